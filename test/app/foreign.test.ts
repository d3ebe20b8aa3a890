import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, Router } from '../../src/index.ts';
import { inReverse, rawClients, startApp } from '../harness.ts';
import { post, request, rpc } from '../http/raw-client.ts';
import { servers } from '../servers.ts';

for (const transport of servers) {
  describe(`requests of foreign hosts and origins on ${transport}`, () => {
    async function start(t: TestContext, options: AppOptions) {
      const router = new Router();
      router.rpc({ name: 'ping' }, () => 'pong');
      const own = inReverse(t);
      const {
        url,
        metricsUrl = '',
        lines,
      } = await startApp(own, { router, transport, ...options });
      const status = async (at: string, text: string | Uint8Array) =>
        (await rawClients(own, Number(new URL(at).port))().ask(text)).status;
      const told = () =>
        lines
          .filter(({ fields }) => fields.event === 'request-foreign')
          .map(({ fields }) => fields);
      return { url, metricsUrl, status, told };
    }
    const get = (path: string, host: string) =>
      request('GET', path, []).replace('host: test', `host: ${host}`);

    test('with metricsPort, /metrics and the health routes are served by any address, other routes by allowedHosts', async (t) => {
      const { url, metricsUrl, status, told } = await start(t, {
        allowedHosts: ['api.example.com'],
        metricsPort: 0,
        console: true,
      });
      for (const path of ['/metrics', '/healthz', '/readyz']) {
        assert.equal(await status(metricsUrl, get(path, '10.1.2.3:9100')), 200, path);
      }
      assert.deepEqual(told(), []);
      for (const path of ['/console/figures', '/rpc', '/nowhere']) {
        assert.equal(await status(metricsUrl, get(path, '10.1.2.3:9100')), 403, path);
      }
      assert.equal(await status(url, get('/rpc', '10.1.2.3')), 403);
      assert.equal(told().length, 4);
    });

    test('on the port of the calls, a refused host of /metrics is a line of the log', async (t) => {
      const { url, status, told } = await start(t, { allowedHosts: ['api.example.com'] });
      assert.equal(await status(url, get('/metrics', '10.1.2.3:8000')), 403);
      assert.deepEqual(told(), [{ event: 'request-foreign', host: '10.1.2.3:8000' }]);
      // At once: the log writes ten lines of one event in a second.
      const many = Array.from({ length: 50 }, () => status(url, get('/metrics', 'evil.example')));
      assert.deepEqual(new Set(await Promise.all(many)), new Set([403]));
      assert.ok(told().length < 50, `${told().length} lines`);
    });

    test('an origin that is not in corsOrigin is a line of the log, the own one is not', async (t) => {
      const { url, status, told } = await start(t, { corsOrigin: ['https://shop.example'] });
      const from = (origin: string) =>
        status(url, post(rpc('ping'), { host: 'api.example', origin }));
      assert.equal(await from('https://shop.example'), 200);
      assert.equal(await from('http://api.example'), 200);
      assert.deepEqual(told(), []);
      assert.equal(await from('https://other.example'), 200);
      assert.deepEqual(told(), [{ event: 'request-foreign', origin: 'https://other.example' }]);
    });
  });
}
