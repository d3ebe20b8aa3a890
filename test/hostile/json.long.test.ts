import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { post, type RawClient } from '../http/raw-client.ts';
import { error, parseError, result, settled } from '../protocol/case.ts';
import { type ServerName, servers, usualServer } from '../servers.ts';
import type { JsonCase } from './json/case.ts';
import { corpus } from './json/corpus.ts';
import { placedProcedures, referenceOf, withoutHints } from './reference.ts';
import { startTarget, type Target } from './target.ts';

/** Makes a body a large one. The reference reads a short one in its place: nothing of it comes back. */
const pad = 'x'.repeat(70_000);

/** A body around a text, `@` for the place, `#` for the text and `~` for what makes it large. */
interface Form {
  readonly name: string;
  readonly body: string;
  readonly transports: readonly ServerName[];
}

/** How a body is read does not depend on what carried it: one transport is asked all of it. */
const form = (name: string, body: string, on: readonly ServerName[] = [usualServer]): Form => ({
  name,
  body,
  transports: on,
});

const forms: readonly Form[] = [
  form('as params', '{"jsonrpc":"2.0","method":"@echo","params":{"value":#},"id":1}', servers),
  form('as params, the id first', '{"id":"a","method":"@echo","params":{"value":#}}'),
  form('as params of a notification', '{"method":"@echo","params":{"value":#}}'),
  form(
    'as params that the quick reader leaves alone',
    '{"x":0,"method":"@echo","params":{"value":#},"id":1}',
  ),
  form('in a batch', '[{"method":"@any","id":1},{"method":"@echo","params":{"value":#},"id":2}]'),
  form('as an element of a batch', '[#,{"method":"@any","id":1}]'),
  form('in a member that is ignored', '{"method":"@any","x":#,"id":1}'),
  form('as the whole body', '#', servers),
  form('in large params, last', '{"method":"@padded","params":{"pad":"~","value":#},"id":1}'),
  form('in large params, first', '{"id":1,"method":"@padded","params":{"value":#,"pad":"~"}}'),
  form(
    'in a large batch',
    '[{"method":"@padded","params":{"pad":"~","value":#},"id":1},{"method":"@any","id":2}]',
  ),
];

function bodyOf({ body }: Form, place: string, bytes: Buffer, large = pad): Buffer {
  const [before = '', after = ''] = body.replaceAll('@', place).replace('~', large).split('#');
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
}

/** What the stated verdict of a text makes of a call that gives it back. */
function stated({ verdict, bytes }: JsonCase): string {
  switch (verdict) {
    case 'reject':
    case 'too deep':
    case 'UTF-16':
    case 'no byte order mark':
      return parseError;
    case 'infinite':
      return error('1', -32603, 'Internal error', '{"ref":"(any)"}');
    default:
      return result('1', JSON.stringify(JSON.parse(bytes.toString())));
  }
}

test('the reference gives each text the verdict that is stated', () => {
  const [asParams] = forms as readonly [Form];
  for (const one of corpus) {
    const { reply } = referenceOf(bodyOf(asParams, 'in.', one.bytes), placedProcedures);
    assert.equal(reply, stated(one), one.name);
  }
});

/** One connection that is asked everything: each answer must leave it open. */
async function ask(client: RawClient, body: Buffer): Promise<string | undefined> {
  const { status, body: reply } = await client.ask(post(body));
  if (status === 204 && reply.length === 0) return undefined;
  assert.equal(status, 200);
  return withoutHints(settled(reply.toString()));
}

/** How many calls have run. */
async function countOf(client: RawClient, place: string): Promise<number> {
  const reply = await ask(client, Buffer.from(`{"method":"${place}runs","id":0}`));
  return (JSON.parse(reply ?? '{}') as { result: number }).result;
}

for (const transport of servers) {
  describe(`the JSON corpus on ${transport}`, () => {
    let target: Target;
    let client: RawClient;
    before(async () => {
      target = await startTarget(transport, 'both');
      client = target.client();
    });
    after(() => target.close());

    for (const place of ['in.', 'out.']) {
      let runs: number;
      test(`the count of runs, ${place}`, async () => {
        // The main thread of this process may have served another test.
        runs = await countOf(client, place);
      });
      for (const one of forms.filter((each) => each.transports.includes(transport))) {
        test(`${one.name}, ${place}`, async () => {
          for (const text of corpus) {
            const body = bodyOf(one, place, text.bytes);
            const expected = referenceOf(bodyOf(one, place, text.bytes, ''), placedProcedures);
            assert.equal(await ask(client, body), expected.reply, text.name);
            runs += expected.runs;
          }
          // What was refused did not run, what was accepted ran once.
          assert.equal(await countOf(client, place), runs);
        });
      }
    }
  });
}
