import { test } from 'node:test';
import { procedure, Type } from '../../src/index.ts';
import { isRefused } from './run.ts';

test('an option affinity that can not work is refused, and the message says what to do', () => {
  const params = Type.Object({ docId: Type.String(), page: Type.Integer() });
  const make = procedure as (options: object, handler: unknown) => unknown;
  function* stream(): Generator<number> {
    yield 1;
  }
  for (const [options, handler, text] of [
    [{ affinity: 1 }, () => 1, "option affinity must be the name of a param, or 'caller', got 1"],
    [
      { affinity: '' },
      () => 1,
      'option affinity must be the name of a param, or \'caller\', got ""',
    ],
    [
      { affinity: 'docid', params },
      () => 1,
      `option affinity must be 'caller' or a param (docId, page), got "docid"; did you mean docId?`,
    ],
    [
      { affinity: 'docId', params, batch: { max: 8 } },
      () => [],
      "option affinity can't stand beside batch, whose calls run together whatever their keys: leave one of the two out",
    ],
    [
      { affinity: 'caller', placement: 'inline' },
      () => 1,
      "option affinity (caller) chooses among workers, and placement is 'inline': leave one of the two out",
    ],
    [
      { affinity: 'docId', params },
      stream,
      'option affinity is not for a stream, which would hold the worker of its key for as long as it runs: leave affinity out',
    ],
  ] as const) {
    isRefused(() => make({ name: 'render', ...options }, handler), `procedure "render": ${text}`);
  }
});
