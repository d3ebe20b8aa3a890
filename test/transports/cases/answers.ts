import assert from 'node:assert/strict';
import type { Case } from '../../protocol/case.ts';
import { batch } from '../../protocol/cases/batch.ts';
import { errors } from '../../protocol/cases/errors.ts';
import { ids } from '../../protocol/cases/ids.ts';
import { specification } from '../../protocol/cases/specification.ts';
import { characters, depth, encoding, syntax } from '../../protocol/cases/text.ts';
import type { Stage } from '../stage.ts';
import type { TransportCase } from '../suite.ts';

/** Each message has the one answer that docs/protocol.md gives it, and nothing comes behind it. */
function exactly(
  name: string,
  table: readonly Case[],
  needs: TransportCase['needs'] = [],
): TransportCase {
  return {
    name,
    needs,
    async run(stage) {
      const connection = await stage.connect();
      const sent = table.filter((one) => one.isLarge !== true && stage.subject.carries(one.body));
      assert.ok(sent.length > 0);
      for (const { name: what, body, reply } of sent) {
        const got = await stage.ask(connection, body, { isAnswered: reply !== undefined });
        assert.equal(got, reply, what);
      }
    },
  };
}

export const answers: readonly TransportCase[] = [
  exactly('the examples of the specification have their answers', specification),
  exactly('each id comes back as it was written', ids, ['messages']),
  exactly('what is no JSON is answered with -32700', syntax, ['messages']),
  exactly('é, ÿ, C1 and wide characters arrive as UTF-8', characters),
  exactly('text in other encodings is refused', encoding, ['messages']),
  exactly('depth is limited', depth, ['messages']),
  exactly('batches are answered in their order', batch, ['messages']),
  exactly('errors of procedures are answers', errors),
  {
    name: 'a message that comes in pieces is one message',
    needs: ['pieces'],
    async run(stage) {
      const connection = await stage.connect();
      for (const length of [0, 10, 1000, 200_000]) {
        const text = 'é'.repeat(length);
        const params = { value: text };
        await connection.send(call('echo', params), {}, 7);
        const reply = JSON.parse((await connection.receive()) ?? '') as { readonly result: string };
        assert.ok(reply.result === text, `${length} characters`);
        await stage.assertSilent(connection);
      }
    },
  },
  {
    name: 'answers of any length arrive whole',
    async run(stage) {
      const connection = await stage.connect();
      for (const size of [1, 4095, 4096, 16_384, 65_535, 65_536, 3_000_000]) {
        await connection.send(call('big', { size }));
        const reply = await connection.receive();
        const whole = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(size)}"}`;
        assert.ok(reply === whole, `${size} characters`);
      }
      await stage.assertSilent(connection);
    },
  },
  {
    name: 'messages that are sent behind each other are all answered',
    run: (stage) => behindEachOther(stage, false),
  },
  {
    name: 'messages that are sent behind each other are answered in their order',
    needs: ['keeps-order'],
    run: (stage) => behindEachOther(stage, true),
  },
];

async function behindEachOther(stage: Stage, inOrder: boolean): Promise<void> {
  const connection = await stage.connect();
  const sent = Array.from({ length: 20 }, (_, id) => id);
  await Promise.all(sent.map((id) => connection.send(call('free', { id }, id))));
  const got: unknown[] = [];
  for (const _ of sent) {
    const reply = JSON.parse((await connection.receive()) ?? '') as Answered;
    assert.deepEqual(reply.result, { id: reply.id });
    got.push(reply.id);
  }
  assert.deepEqual(inOrder ? got : [...got].sort((a, b) => Number(a) - Number(b)), sent);
  await stage.assertSilent(connection);
}

interface Answered {
  readonly id: unknown;
  readonly result: unknown;
}

/** A request as text. */
export function call(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}
