import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../src/client/index.ts';
import * as tandem from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { fixture } from './running.ts';

test('a worker has every name of the package: services can be made there and not started, calls within the process run', async (t) => {
  const service = await TestService.start(t, { modules: [fixture('makes-services.mjs')] });
  const { fetch } = service.dispatcher;
  const client = createClient({ url: 'http://local/rpc', fetch });
  const { refusals, ...found } = (await client.call('services')) as { refusals: string[] };
  assert.deepEqual(found, {
    names: Object.keys(tandem).sort(),
    app: 'an app with 2 procedures',
    isApp: true,
    called: 3,
    handled: { jsonrpc: '2.0', result: 4, id: 1 },
  });
  assert.match(refusals[0] ?? '', /^cannot listen in a worker thread of one: /);
  for (const refusal of refusals.slice(1)) {
    assert.match(refusal, /^cannot start a service in a worker thread of one: /);
  }
  assert.equal(refusals.length, 4);
});
