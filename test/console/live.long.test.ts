/** docs/console.md, "Watching the service": tables that few services fill. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { member } from '../nats/apps.ts';
import { findNatsServer, NatsServer, needs } from '../nats/nats-server.ts';
import { postJson } from '../post-json.ts';
import { until } from '../turns.ts';
import { assertQuiet, noBrowser, OneBrowser, violations } from './browser.ts';

const noNats = findNatsServer() === undefined && needs;

describe('the live page', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  test('lists callers that are throttled, by what they are and which limit it was', async (t) => {
    const router = new Router();
    router.rpc({ name: 'now', placement: 'inline' }, () => 1);
    const shown = await browser.show(t, {
      hash: '#/live',
      options: {
        router,
        authenticate: ({ headers }) => headers['x-name'],
        rateLimit: { calls: 1, burstSeconds: 3600 },
      },
    });
    const { page, url } = shown;
    await page.getByText('no call was refused because of too many').waitFor();
    const post = (name: string, body: unknown) =>
      postJson(new URL('/rpc', url), body, { 'x-name': name });
    const notification = { jsonrpc: '2.0', method: 'now' };
    for (let i = 0; i < 4; i++) await post('ada', Array(1000).fill(notification));
    await post('ada', { ...notification, id: 1 });
    await post('ada', { ...notification, id: 2 });
    await page.getByRole('row', { name: /^ada auth 2 2 – – – / }).waitFor();
    assert.deepEqual(await violations(page), []);
    await assertQuiet(shown);
  });

  test('lists the members of a gateway, and who has left', { skip: noNats }, async (t) => {
    const server = await NatsServer.startFor(t);
    const old = await member(t, server.url, { name: 'old', version: '1.9.0' });
    await member(t, server.url, { name: 'new', version: '1.10.0', procedures: ['who', 'more'] });
    const shown = await browser.show(t, {
      hash: '#/live',
      options: { router: new Router(), nats: { servers: server.url, role: 'gateway' } },
    });
    const { page, app } = shown;
    await until(() => app.dispatcher.stats().remote?.members === 2);
    await page.getByRole('row', { name: / 1\.9\.0 ready 2 0 0 0 0 / }).waitFor();
    await page.getByRole('row', { name: / 1\.10\.0 ready 3 0 0 0 0 / }).waitFor();
    await page.getByText('lost with members').waitFor();
    assert.deepEqual(await violations(page), []);
    await old.app.close();
    await page.locator('.events li', { hasText: 'member-left' }).waitFor();
    await page.getByRole('row', { name: / 1\.9\.0 / }).waitFor({ state: 'detached' });
    await assertQuiet(shown);
  });
});
