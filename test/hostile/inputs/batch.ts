import { invalid, notFound, parseError, refused, result, tooLarge } from '../../protocol/case.ts';
import { broken, call, type Input } from './input.ts';

const any = (id: number | string) => `{"method":"@any","params":{"a":1},"id":${id}}`;
const done = (id: number | string) => result(String(id), '{"a":1}');
const note = '{"method":"@any"}';
const many = (count: number, text: string) => Array.from({ length: count }, () => text).join(',');

/** docs/protocol.md, "Batch". */
export const batch: readonly Input[] = [
  call('an empty batch', '[]', invalid()),
  call('an empty batch, with blanks', ' [ ] ', invalid()),
  call('a batch in a batch', `[[${any(1)}]]`, `[${invalid()}]`),
  call('an empty batch in a batch', '[[]]', `[${invalid()}]`),
  call('a batch of scalars', '[1,"a",true,null]', `[${many(4, invalid())}]`),
  call('a batch of empty objects', '[{},{}]', `[${many(2, invalid())}]`),
  call(
    'a scalar among calls',
    `[${any(1)},1,${any(2)}]`,
    `[${done(1)},${invalid()},${done(2)}]`,
    2,
  ),
  call(
    'an id that is none among calls',
    `[${any('{}')},${any(2)}]`,
    `[${invalid()},${done(2)}]`,
    1,
  ),
  call(
    'a repeated member among calls',
    `[{"id":1,"id":1,"method":"@any"},${any(2)}]`,
    `[${invalid()},${done(2)}]`,
    1,
  ),
  call(
    'a wrong version, an unknown method and refused params in one batch',
    `[{"jsonrpc":"1.0","method":"@any","id":1},{"method":"nowhere","id":2},{"method":"@any","params":[3],"id":3}]`,
    `[${invalid('1')},${notFound('2', 'nowhere')},${refused('3', { path: '', expected: 'Record<string, unknown>', received: 'array' })}]`,
  ),
  call('only notifications', `[${note},${note}]`, undefined, 2),
  call(
    'only notifications that fail',
    '[{"method":"nowhere"},{"method":"@any","params":[2]}]',
    undefined,
  ),
  call('notifications and what is no request', `[${note},1]`, `[${invalid()}]`, 1),
  call('one call too many', `[${many(1001, any(1))}]`, tooLarge('null', 1000)),
  call('one notification too many', `[${many(1001, note)}]`, tooLarge('null', 1000)),
  call('100,000 scalars', `[${many(100_000, '0')}]`, tooLarge('null', 1000)),
  call('the same id a thousand times', `[${many(1000, any(7))}]`, `[${many(1000, done(7))}]`, 1000),
  broken('a comma behind the last call', `[${any(1)},]`),
  broken('a batch that does not close', `[${any(1)}`),
  broken('a batch without brackets', `${any(1)},${any(2)}`),
  broken(
    'broken params in the last of a hundred',
    `[${many(99, any(1))},{"method":"@any","params":{"a":},"id":2}]`,
  ),
  broken(
    '65 levels with the batch',
    `[{"method":"@any","params":${'['.repeat(63)}${']'.repeat(63)},"id":1}]`,
  ),
  call(
    '65 levels beside a good call',
    `[${any(1)},${'['.repeat(64)}${']'.repeat(64)}]`,
    parseError,
  ),
  call('a batch as an object', `{"0":${any(1)},"length":1}`, invalid()),
  call('a batch in params', `{"batch":[${any(1)}]}`, invalid()),
];
