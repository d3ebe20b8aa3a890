import { Router, RpcError, Type } from 'tandem-rpc';

export const math = new Router();

/** `tandem serve` shows a call with the examples, and the documents have them. */
const twoNumbers = Type.Object({
  a: Type.Number({ examples: [2] }),
  b: Type.Number({ examples: [3] }),
});

/** They only compute: agents know that they change nothing, and a GET may call them. */
const effects = { readOnly: true } as const;

/** Codes of one's own: -32768 to -32000 belong to JSON-RPC. */
const divisionByZero = 1001;

math.rpc(
  {
    name: 'add',
    doc: 'The sum of two numbers.',
    params: twoNumbers,
    returns: Type.Number(),
    effects,
  },
  ({ a, b }) => a + b,
);

math.rpc(
  {
    name: 'divide',
    doc: 'a divided by b; error 1001 when b is 0.',
    params: twoNumbers,
    returns: Type.Number(),
    effects,
  },
  ({ a, b }) => {
    if (b === 0) throw new RpcError(divisionByZero, 'Division by zero', { dividend: a });
    return a / b;
  },
);

math.rpc(
  {
    name: 'summary',
    doc: 'Count, mean and standard deviation of a list of numbers.',
    params: Type.Object({ values: Type.Array(Type.Number(), { minItems: 1 }) }),
    returns: Type.Object({ count: Type.Integer(), mean: Type.Number(), deviation: Type.Number() }),
    effects,
  },
  ({ values }) => {
    const count = values.length;
    const mean = values.reduce((sum, value) => sum + value, 0) / count;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return { count, mean, deviation: Math.sqrt(squares / count) };
  },
);
