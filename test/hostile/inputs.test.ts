import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { checkEach } from '../each-case.ts';
import { header, json, post, type RawClient, type RawResponse } from '../http/raw-client.ts';
import { settled } from '../protocol/case.ts';
import { needs } from '../servers.ts';
import { batch } from './inputs/batch.ts';
import { envelope } from './inputs/envelope.ts';
import { headerLines } from './inputs/header-lines.ts';
import { headers } from './inputs/headers.ts';
import type { Input, Rejection, Wanted } from './inputs/input.ts';
import { json as notJson } from './inputs/json.ts';
import { lengths } from './inputs/lengths.ts';
import { params } from './inputs/params.ts';
import { startLines } from './inputs/start-lines.ts';
import { targets } from './inputs/targets.ts';
import { Target, transports } from './target.ts';

const families: Readonly<Record<string, readonly Input[]>> = {
  'what is not JSON': notJson,
  'what is no request': envelope,
  params,
  batch,
  headers,
  'methods and targets': targets,
  framing: [...lengths, ...headerLines, ...startLines],
};
const all = Object.values(families).flat();

const places = ['in.', 'out.'];

/** Asks how many calls have run, in either place: a good call, whose answer shows that no other one ran. */
const probe = post('[{"method":"in.runs","id":"in"},{"method":"out.runs","id":"out"}]');

class Runs {
  readonly #counts = new Map<string, number>();

  /** From here on: the front end of this process may have served another test. */
  async start(client: RawClient): Promise<void> {
    const replies = JSON.parse((await client.ask(probe)).body.toString()) as { result: number }[];
    for (const [i, place] of places.entries()) this.#counts.set(place, replies[i]?.result ?? 0);
    client.destroy();
  }

  add(place: string, count: number): void {
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + count);
  }

  /** After an input that may have run. */
  async follow(client: RawClient): Promise<void> {
    const before = new Map(this.#counts);
    await this.start(client);
    for (const [place, count] of this.#counts) {
      const added = count - (before.get(place) ?? 0);
      // A busy machine may keep the worker from answering for so long that another one takes its place and counts anew.
      const isReplaced = place === 'out.' && count <= 1;
      assert.ok(added === 0 || added === 1 || isReplaced, `${added} calls ran ${place}`);
    }
  }

  async assertOn(client: RawClient): Promise<void> {
    const { status, body } = await client.ask(probe);
    const [inline, pooled] = places.map((place) => this.#counts.get(place));
    const wanted = `[{"jsonrpc":"2.0","id":"in","result":${inline}},{"jsonrpc":"2.0","id":"out","result":${pooled}}]`;
    assert.deepEqual([status, body.toString()], [200, wanted], 'a good call on this connection');
  }
}

function assertAnswer(response: RawResponse, wanted: Wanted, place: string): void {
  const text = response.body.toString();
  if (wanted.how === 'reply') {
    assert.equal(settled(text), wanted.text.replaceAll('@', place));
    assert.equal(response.status, 200);
    assert.equal(header(response, 'content-type'), 'application/json');
  } else if (wanted.how === 'document') {
    assert.equal(response.status, 200);
    assert.ok(text.startsWith('{"in.runs":'));
  } else if (wanted.how === 'nothing') {
    assert.deepEqual([response.status, text], [204, '']);
  } else if (wanted.how === 'rejection') {
    if (wanted.orParser && !isOurs(response)) assertClass(response, [4]);
    else assertRejection(response, wanted);
  } else if (wanted.how === 'parser') {
    assertClass(response, wanted.classes);
  } else {
    assert.fail(`answered with ${response.status} ${text}`);
  }
}

/** A parser answers without a type, or with HTML. */
function isOurs(response: RawResponse): boolean {
  return header(response, 'content-type') === 'application/json';
}

function assertClass({ status }: RawResponse, classes: readonly number[]): void {
  assert.ok(classes.includes(Math.floor(status / 100)), `status ${status}`);
}

function assertRejection(response: RawResponse, wanted: Rejection): void {
  assert.equal(response.status, wanted.status);
  assert.equal(header(response, 'content-type'), 'application/json');
  assert.equal(header(response, 'access-control-allow-origin'), '*');
  assert.equal(header(response, 'allow'), wanted.allow);
  if (wanted.closes) assert.equal(header(response, 'connection')?.toLowerCase(), 'close');
  if (wanted.isHead === true) return;
  const { jsonrpc, id, error } = json(response);
  assert.deepEqual(
    { jsonrpc, id, code: error.code },
    { jsonrpc: '2.0', id: null, code: wanted.code },
  );
  const data = error.data as { reason?: string; limit?: number };
  assert.ok(wanted.status === 413 ? data.limit === 10_485_760 : (data.reason ?? '') !== '');
}

async function check(target: Target, input: Input, place: string, runs: Runs): Promise<void> {
  const wanted = input.wanted[target.transport];
  const one = target.client();
  await one.write(input.bytes(place));
  if (input.ends || (wanted.how === 'parser' && wanted.ends)) one.socket.end();
  if (input.runs !== undefined) runs.add(place, input.runs);
  if (wanted.how === 'cut') {
    await one.untilClosed();
    assert.equal(one.received.toString(), '');
  } else if (wanted.how === 'parser' || (wanted.how === 'rejection' && wanted.closes)) {
    await one.untilClosed();
    if (wanted.how !== 'parser' || one.received.length > 0) {
      assertAnswer(await one.response(), wanted, place);
    }
    // The parser's own complaint may stand behind the reply; an answer to what was hidden there may not.
    assert.match(one.received.toString(), /^(HTTP\/1\.1 400 |$)/);
  } else {
    const response = await one.response(wanted.how === 'rejection' && wanted.isHead === true);
    assertAnswer(response, wanted, place);
    if (wanted.how === 'rejection' && wanted.orParser && !isOurs(response)) {
      await one.untilClosed();
      assert.equal(one.received.length, 0, 'one answer and no other');
      await assertOthers(target, runs);
      return;
    }
    if (input.runs === undefined) await runs.follow(target.client());
    await runs.assertOn(one);
    assert.equal(one.received.length, 0, 'one answer and no other');
    one.destroy();
    // The next input finds on a connection of its own that others are served as before.
    return;
  }
  one.destroy();
  await assertOthers(target, runs);
}

/** A good call on a fresh connection. */
async function assertOthers(target: Target, runs: Runs): Promise<void> {
  const other = target.client();
  await runs.assertOn(other);
  other.destroy();
}

for (const transport of transports) {
  describe(`bad inputs on ${transport}`, needs(transport), () => {
    let target: Target;
    const runs = new Runs();
    before(async () => {
      target = await Target.start(transport, 'both');
      await runs.start(target.client());
    });
    after(() => target.close());

    for (const [family, inputs] of Object.entries(families)) {
      test(family, async () => {
        const each = inputs.flatMap((input) => {
          // What holds no call is the same in both places.
          const [first = '', ...others] = places;
          const differs = (place: string) => !input.bytes(place).equals(input.bytes(first));
          return [first, ...others.filter(differs)].map((place) => ({ input, place }));
        });
        await checkEach(
          each,
          ({ input, place }) => `${input.cause}, ${place}`,
          ({ input, place }) => check(target, input, place, runs),
        );
        await assertOthers(target, runs);
      });
    }
  });
}

test('each bad input has a cause and bytes of its own', () => {
  const repeated = (keys: readonly string[]) =>
    keys.filter((key, i) => keys.indexOf(key) !== i).map((key) => key.slice(0, 200));
  assert.deepEqual(repeated(all.map(({ cause }) => cause)), []);
  assert.deepEqual(repeated(all.map((input) => input.bytes('in.').toString('latin1'))), []);
  assert.ok(all.length >= 120, String(all.length));
});

test('the transports differ about framing alone, and each time it is said why', () => {
  for (const [family, inputs] of Object.entries(families)) {
    for (const { cause, wanted, differs } of inputs) {
      const same = JSON.stringify(wanted.uws) === JSON.stringify(wanted.node);
      assert.equal(same, differs === undefined, cause);
      if (!same) assert.equal(family, 'framing', cause);
    }
  }
});
