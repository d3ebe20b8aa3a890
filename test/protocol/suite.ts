import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ConfigOptions } from '../../src/index.ts';
import { checkEach } from '../each-case.ts';
import { type Case, settled } from './case.ts';
import { batch } from './cases/batch.ts';
import { errors, largeAt, totalsAt } from './cases/errors.ts';
import { ids } from './cases/ids.ts';
import { members } from './cases/members.ts';
import { params } from './cases/params.ts';
import { specification } from './cases/specification.ts';
import { characters, depth, encoding, syntax, values } from './cases/text.ts';
import type { Started, Subject, Way } from './subjects.ts';

type Table = Readonly<Record<string, readonly Case[]>>;

const tableAt = (maxReplyBytes: number): Table => ({
  'the examples of the specification': specification,
  ids,
  'members of a request': members,
  'what is not JSON': syntax,
  characters,
  encoding,
  depth,
  values,
  parameters: params,
  batches: batch,
  errors: [...errors, ...largeAt(maxReplyBytes)],
  'size of a batch': totalsAt(maxReplyBytes),
});

/** A text that a failure can show. */
function shown(text: string | undefined): string | undefined {
  if (text === undefined || text.length < 2000) return text;
  return `${text.slice(0, 500)} ... ${text.slice(-300)} (${text.length})`;
}

const valued = new Map<string, string>();

/** A payload's ids and numbers come back by their value, so its reply is compared by value, in order. */
function byValue(reply: string): string {
  const known = valued.get(reply);
  if (known !== undefined) return known;
  const text = JSON.stringify(JSON.parse(reply));
  valued.set(reply, text);
  return text;
}

async function check(way: Way, { name, body, reply, onlyAsText }: Case): Promise<boolean> {
  if (!way.asText && onlyAsText !== undefined) return false;
  const answer = await way.send(body);
  const wanted = way.asText || reply === undefined ? reply : byValue(reply);
  if (answer === wanted) return true; // large ones are not read once more
  const got = answer === undefined ? undefined : settled(answer);
  const same = got === wanted; // a diff of 25 MB takes minutes
  if (!same) assert.equal(shown(got), shown(wanted), `${name}, as ${way.name}`);
  assert.ok(same, `${name}, as ${way.name}`);
  return true;
}

/** The cases of the table over something that answers bodies. */
export function answersBodies(
  name: string,
  { start, maxReplyBytes }: Started,
  options: ConfigOptions = {},
  table = tableAt(maxReplyBytes),
): void {
  describe(name, () => {
    let subject: Subject;
    before(async () => {
      subject = await start(options);
    });
    after(() => subject.close());

    for (const [group, cases] of Object.entries(table)) {
      test(group, async () => {
        const names = cases.map((one) => one.name);
        assert.deepEqual(names, [...new Set(names)], 'names');
        const hasText = subject.ways.some(({ asText }) => asText);
        // What a subject can't be asked is no test of it: the table says why.
        const asked = cases.filter(({ onlyAsText }) => onlyAsText === undefined || hasText);
        await checkEach(
          asked,
          ({ name }) => name,
          async (one) => {
            let ways = 0;
            for (const way of subject.ways) {
              if (await check(way, one)) ways++;
              if (one.isLarge && ways > 0) break;
            }
            assert.ok(ways > 0);
          },
        );
      });
    }
  });
}
