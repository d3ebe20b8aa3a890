import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { type ServerName, servers } from '../servers.ts';
import { header, type RawClient, type RawResponse, request, socketPath } from './raw-client.ts';
import { type Allowed, oldBinaryFaults, type RfcCase, rfcCases, uwsFaults } from './rfc-cases.ts';
import { type Running, starter } from './stub-server.ts';

const { fault } = await loadUws();

/** The status; or how there is none. */
type Outcome = number | 'cut' | 'waits';

/** Sends a case and says what is wrong with what comes back; undefined: nothing. */
async function faultOf(
  { client, service }: Running,
  other: RawClient,
  one: RfcCase,
): Promise<string | undefined> {
  const ran = service.bodies.length;
  const own = client();
  await own.write(one.bytes);
  // By then the server has read what was sent, and answered it, unless it waits for more.
  for (let i = 0; i < 3; i++) await other.ask(request('GET', '/healthz'));
  const nothing: Outcome = own.closed ? 'cut' : 'waits';
  let response = own.received.length > 0 ? await own.response(one.isHead) : undefined;
  // A server may say so more than once (RFC 9110, 15.2).
  while (response?.status === 100) response = await own.response();
  const outcome = response?.status ?? nothing;
  if (!one.allowed.some((each) => isAllowed(each, outcome))) return `answered by ${outcome}`;
  if (one.closes === true) await own.untilClosed();
  // The parser's own complaint may stand behind an answer: an answer to what was hidden there may not.
  assert.match(own.received.toString(), /^(HTTP\/1\.1 400 |$)/);
  const handed = one.body === undefined ? [] : [one.body.length];
  const got = service.bodies.slice(ran).map(({ bytes }) => bytes);
  if (one.body !== undefined || typeof outcome !== 'number' || outcome > 299) {
    assert.deepEqual(got, handed);
  }
  own.destroy();
  return response && headerFault(response, one);
}

function headerFault(response: RawResponse, { has, lacks }: RfcCase): string | undefined {
  if (has !== undefined && header(response, has) === undefined) return `has no ${has}`;
  if (lacks !== undefined && header(response, lacks) !== undefined) return `has ${lacks}`;
  return undefined;
}

function isAllowed(allowed: Allowed, outcome: Outcome): boolean {
  if (typeof outcome !== 'number' || typeof allowed === 'number') return allowed === outcome;
  const first = Math.floor(outcome / 100);
  return allowed === 'not 1xx' ? first > 1 : allowed === `${first}xx`;
}

/** The cases that a server is known to fail. */
function knownFaults(server: ServerName): string[] {
  if (server === 'node') return [];
  return [uwsFaults, fault === undefined ? {} : oldBinaryFaults].flatMap((all) =>
    Object.values(all).flat(),
  );
}

for (const server of servers) {
  describe(`what h1spec and Http11Probe ask of HTTP/1.1, on ${server}`, () => {
    test('each case has an answer that its RFC allows, but for the known faults of uWebSockets.js', async (t) => {
      // What is written is at its reader at once; a busy Linux passes on what goes by TCP later.
      const running = await starter(server)(t, { socket: socketPath() });
      const other = running.client();
      const faults: Record<string, string> = {};
      for (const one of rfcCases) {
        const found = await faultOf(running, other, one);
        if (found !== undefined) faults[one.name] = `${found}, RFC ${one.section}`;
      }
      assert.deepEqual(
        Object.keys(faults).sort(),
        knownFaults(server).sort(),
        JSON.stringify(faults),
      );
    });
  });
}

test('no two cases have one name', () => {
  assert.equal(new Set(rfcCases.map(({ name }) => name)).size, rfcCases.length);
});
