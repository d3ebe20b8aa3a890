import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEach } from '../../each-case.ts';
import type { ServerName } from '../../servers.ts';
import { header, json, post, type RawResponse, rpc } from '../raw-client.ts';
import type { Running, Start } from '../stub-server.ts';
import { headers } from './bad-requests/headers.ts';
import type { Input, Rejection } from './bad-requests/input.ts';
import { lengths } from './bad-requests/lengths.ts';
import { startLines } from './bad-requests/start-lines.ts';
import { targets } from './bad-requests/targets.ts';

const families: Readonly<Record<string, readonly Input[]>> = {
  headers,
  'methods and targets': targets,
  framing: [...lengths, ...startLines],
};

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

/** Sends bad bytes: they have their one answer, no call in or behind them runs, and others are served as before. */
async function check({ client, service }: Running, server: ServerName, input: Input) {
  const wanted = input.wanted[server];
  const ran = service.bodies.length;
  const one = client();
  await one.write(input.bytes);
  if (input.ends || (wanted.how === 'parser' && wanted.ends)) one.socket.end();
  let goesOn = wanted.how === 'document' || (wanted.how === 'rejection' && !wanted.closes);
  if (!goesOn) await one.untilClosed();
  if (wanted.how === 'rejection' || goesOn || one.received.length > 0) {
    const response = await one.response(wanted.how === 'rejection' && wanted.isHead === true);
    if (wanted.how === 'cut') assert.fail(`answered with ${response.status}`);
    else if (wanted.how === 'parser') assertClass(response, wanted.classes);
    else if (wanted.how === 'document') assert.equal(response.status, 200);
    else if (wanted.orParser === true && !isOurs(response)) {
      assertClass(response, [4]);
      await one.untilClosed();
      goesOn = false;
    } else assertRejection(response, wanted);
    // The parser's own complaint may stand behind the reply; an answer to what was hidden there may not.
    assert.match(one.received.toString(), goesOn ? /^$/ : /^(HTTP\/1\.1 400 |$)/);
  }
  assert.equal(service.bodies.length, ran, 'a call ran');
  const next = goesOn ? one : client();
  assert.equal(json(await next.ask(post(rpc('echo', 'next')))).result, 'next');
  one.destroy();
  next.destroy();
}

export function badRequests(start: Start, server: ServerName): void {
  for (const [family, inputs] of Object.entries(families)) {
    test(`bad requests have their one answer, and others are served: ${family}`, async (t) => {
      const running = await start(t);
      await checkEach(
        inputs,
        ({ cause }) => cause,
        (input) => check(running, server, input),
      );
    });
  }

  test('the servers differ about framing alone', () => {
    for (const [family, inputs] of Object.entries(families)) {
      const causes = inputs.filter(({ differs }) => differs !== undefined);
      assert.equal(causes.length > 0, family === 'framing', family);
    }
  });
}
