import { type Case, error, invalid, notFound, notJson, parseError, result } from '../case.ts';

/** Every example of the JSON-RPC 2.0 specification, section 7, in its own spelling. */
export const specification: readonly Case[] = [
  {
    name: 'call with positional parameters',
    body: '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
    reply: result('1', '19'),
  },
  {
    name: 'call with positional parameters, turned',
    body: '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
    reply: result('2', '-19'),
  },
  {
    name: 'call with named parameters',
    body: '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
    reply: result('3', '19'),
  },
  {
    name: 'call with named parameters in another order',
    body: '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
    reply: result('4', '19'),
  },
  {
    name: 'a notification',
    body: '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}',
    reply: undefined,
  },
  {
    name: 'a notification of what is not there',
    body: '{"jsonrpc": "2.0", "method": "foobar"}',
    reply: undefined,
  },
  {
    name: 'call of non-existent method',
    body: '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
    reply: notFound('"1"', 'foobar'),
  },
  {
    name: 'call with invalid JSON',
    body: '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
    reply: parseError,
    onlyAsText: notJson,
  },
  {
    name: 'call with invalid request object',
    body: '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
    reply: invalid(),
  },
  {
    name: 'call batch, invalid JSON',
    body: `[
  {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
  {"jsonrpc": "2.0", "method"
]`,
    reply: parseError,
    onlyAsText: notJson,
  },
  {
    name: 'call with an empty array',
    body: '[]',
    reply: error('null', -32600, 'Invalid Request'),
  },
  {
    name: 'call with an invalid batch (but not empty)',
    body: '[1]',
    reply: `[${invalid()}]`,
  },
  {
    name: 'call with invalid batch',
    body: '[1,2,3]',
    reply: `[${invalid()},${invalid()},${invalid()}]`,
  },
  {
    name: 'call batch',
    body: `[
        {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
    ]`,
    reply: `[${[
      result('"1"', '7'),
      result('"2"', '19'),
      invalid(),
      notFound('"5"', 'foo.get'),
      result('"9"', '["hello",5]'),
    ].join(',')}]`,
  },
  {
    name: 'call batch (all notifications)',
    body: `[
        {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
    ]`,
    reply: undefined,
  },
];
