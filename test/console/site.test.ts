import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import express from 'express';
import { type AppOptions, Router, RpcApp, RpcError, Type } from '../../src/index.ts';
import { tree } from '../files.ts';
import { mountApp } from '../harness.ts';
import { setNodeEnv } from '../node-env.ts';
import { servers } from '../servers.ts';
import { ensureBuilt, get, routerOfOne, serve } from './get.ts';

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** The names of the scripts and sheets that a page loads. */
function partsOf(html: string): string[] {
  return Array.from(html.matchAll(/(?:src|href)="\.\/([^"]+)"/g), ([, name = '']) => name);
}

/** What the server has told the page. */
function factsIn(html: string): Record<string, unknown> {
  const [, content = ''] = /<meta name="tandem" content="([^"]*)"/.exec(html) ?? [];
  const text = content.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
  return JSON.parse(text) as Record<string, unknown>;
}

await ensureBuilt();

test('the page is small: 50 KB to begin with, 155 KB of the package', () => {
  const folder = join(tree, 'dist/console');
  const packed = new Map(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const),
  );
  let whole = 0;
  for (const { length } of packed.values()) whole += length;
  assert.ok(whole <= 155 * 1024, `${whole} bytes in the package`);
  const page = brotliDecompressSync(packed.get('index.html.br') ?? assert.fail());
  const parts = partsOf(page.toString()).map((name) => packed.get(`${name}.br`) ?? assert.fail());
  const first = [page, ...parts.map((part) => brotliDecompressSync(part))];
  const sent = first.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0);
  assert.ok(sent <= 50 * 1024, `${sent} bytes by gzip`);
});

for (const transport of servers) {
  describe(`the console on ${transport}`, () => {
    test('is where / leads, and /console with a slash', async (t) => {
      const { at, consoleUrl } = await serve(t, { transport });
      assert.equal(consoleUrl, at('/console/'));
      const root = await get(at('/'));
      assert.deepEqual([root.status, root.headers.location], [307, 'console/']);
      // A client whose URL lacks the path.
      const call = await fetch(at('/'), { method: 'POST', body: '{}' });
      assert.equal(call.status, 405);
      assert.match(await call.text(), /"only pages are here, call \/rpc"/);
      const bare = await get(at('/console'));
      assert.deepEqual([bare.status, bare.headers.location], [308, 'console/']);
    });

    test('is one page under a strict policy, with what it can not ask for, and its version as an ETag', async (t) => {
      const { at } = await serve(t, { transport, path: '/api/rpc' });
      const plain = await serve(t, { transport, httpPath: '/api' });
      const { status, headers, body } = await get(at('/console/'));
      assert.equal(status, 200);
      assert.equal(headers['content-security-policy'], policy);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-cache');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
      assert.equal(headers['access-control-allow-origin'], undefined);
      const { version: _version, ...facts } = factsIn(body.toString());
      assert.deepEqual(facts, {
        calls: '../api/rpc',
        urls: null,
        live: true,
        introspection: true,
        profiles: true,
      });
      assert.equal(factsIn((await get(plain.at('/console/'))).body.toString()).urls, '/api');
      const again = await get(at('/console/'), { 'if-none-match': String(headers.etag) });
      assert.deepEqual([again.status, again.body.length], [304, 0]);
      const head = await get(at('/console/'), {}, 'HEAD');
      assert.deepEqual([head.status, head.body.length], [200, 0]);
    });

    test('loads its parts from beside the page, by Brotli or plain, for ever', async (t) => {
      const { at } = await serve(t, { transport });
      const names = partsOf((await get(at('/console/'))).body.toString());
      assert.ok(
        names.some((name) => name.endsWith('.js')) && names.some((name) => name.endsWith('.css')),
      );
      for (const name of names) {
        const plain = await get(at(`/console/${name}`));
        const packed = await get(at(`/console/${name}`), { 'accept-encoding': 'gzip, br;q=0.9' });
        assert.equal(packed.headers['content-encoding'], 'br');
        assert.deepEqual(brotliDecompressSync(packed.body), plain.body);
        for (const { status, headers } of [plain, packed]) {
          assert.equal(status, 200);
          assert.match(String(headers['content-type']), /^text\/(javascript|css); charset=utf-8$/);
          assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
          assert.equal(headers.vary, 'accept-encoding');
          assert.equal(headers['access-control-allow-origin'], undefined);
        }
        const refused = await get(at(`/console/${name}`), { 'accept-encoding': 'br;q=0' });
        assert.equal(refused.headers['content-encoding'], undefined);
      }
    });

    test('has no other files, and takes no other method', async (t) => {
      const { at } = await serve(t, { transport });
      for (const name of [
        'index.html',
        'index.html.br',
        'manifest.json',
        'constructor',
        '../package.json',
      ]) {
        assert.equal((await get(`${at('/console/')}${name}`)).status, 404, name);
      }
      for (const path of ['/', '/console/', '/console/figures']) {
        const { status, headers } = await get(at(path), {}, 'PUT');
        assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], path);
      }
    });

    test('answers local names only where only this machine can reach it, others where they are listed', async (t) => {
      const open = await serve(t, { transport });
      const listed = await serve(t, { transport, allowedHosts: ['console.test'] });
      for (const path of ['/console/', '/console/figures']) {
        for (const host of [
          'localhost',
          'LOCALHOST:80',
          'my.localhost',
          '127.0.0.1',
          '[::1]:8000',
        ]) {
          assert.equal((await get(open.at(path), { host })).status, 200, host);
        }
        for (const host of [
          'evil.test',
          'localhost.evil.test',
          '127.0.0.1.evil.test',
          '10.0.0.1',
        ]) {
          assert.equal((await get(open.at(path), { host })).status, 403, host);
        }
        assert.equal((await get(listed.at(path), { host: 'console.test' })).status, 200);
        assert.equal((await get(listed.at(path), { host: 'localhost' })).status, 403);
      }
    });

    test('shows figures to whom the hook lets, and tells others why not; its files are for everybody', async (t) => {
      const { at } = await serve(t, {
        transport,
        authenticate: ({ headers, path, method }) => {
          if (headers.authorization === 'Bearer secret') return { sub: `${method} ${path}` };
          throw new RpcError(4001, 'a token is needed');
        },
      });
      assert.equal((await get(at('/console/'))).status, 200);
      const refused = await get(at('/console/figures'));
      assert.equal(refused.status, 403);
      assert.match(refused.body.toString(), /"code":4001,"message":"a token is needed"/);
      assert.equal(refused.headers['access-control-allow-origin'], undefined);
      const let_ = await get(at('/console/figures'), { authorization: 'Bearer secret' });
      assert.equal(let_.status, 200);
      assert.equal(let_.headers['cache-control'], 'no-store');
      assert.equal(let_.headers['access-control-allow-origin'], undefined);
    });

    test('has examples of params for whom the hook lets, none without introspection', async (t) => {
      const router = routerOfOne();
      const params = Type.Object({ word: Type.String({ examples: ['mug'] }), n: Type.Integer() });
      router.rpc({ name: 'find', params, placement: 'inline' }, () => 1);
      const { at } = await serve(t, {
        transport,
        router,
        authenticate: ({ headers }) => {
          if (headers.authorization !== 'Bearer secret') throw new RpcError(4001, 'no token');
        },
      });
      const authorization = 'Bearer secret';
      const example = at('/console/example?procedure=find');
      assert.equal((await get(example)).status, 403);
      assert.equal((await get(example, { authorization, host: 'evil.test' })).status, 403);
      const { status, headers, body } = await get(example, { authorization });
      assert.deepEqual([status, body.toString()], [200, '{"word":"mug","n":3}']);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['access-control-allow-origin'], undefined);
      const bare = await get(at('/console/example?procedure=one'), { authorization });
      assert.equal(bare.body.toString(), '{}');
      const unknown = await get(at('/console/example?procedure=two'), { authorization });
      assert.equal(unknown.status, 404);
      const closed = await serve(t, { transport, introspection: false });
      assert.equal((await get(closed.at('/console/example?procedure=one'))).status, 404);
    });

    test('with a port for operators, is live there and calls here', async (t) => {
      const { at, metricsUrl } = await serve(t, { transport, metricsPort: 0 });
      const operations = (path: string) => new URL(path, metricsUrl).href;
      const here = factsIn((await get(at('/console/'))).body.toString());
      assert.deepEqual([here.calls, here.live], ['../rpc', false]);
      assert.equal((await get(at('/console/figures'))).status, 404);
      const there = factsIn((await get(operations('/console/'))).body.toString());
      assert.deepEqual([there.calls, there.live], [null, true]);
      assert.equal((await get(operations('/console/figures'))).status, 200);
      assert.equal((await get(operations('/rpc'))).status, 404);
      assert.equal((await get(at('/console/example?procedure=one'))).status, 200);
      assert.equal((await get(operations('/console/example?procedure=one'))).status, 404);
    });

    test('is off where it is turned off; without metrics it has no figures', async (t) => {
      const off = await serve(t, { transport, console: false });
      assert.equal(off.consoleUrl, undefined);
      for (const path of ['/', '/console', '/console/', '/console/figures']) {
        assert.equal((await get(off.at(path))).status, 404, path);
      }
      const { at } = await serve(t, { transport, metrics: false });
      assert.equal(factsIn((await get(at('/console/'))).body.toString()).live, false);
      assert.equal((await get(at('/console/figures'))).status, 404);
    });
  });
}

describe('by default the console', () => {
  test('is on where only this machine can reach it outside production, and never in the way of the calls', (t) => {
    const isOn = (options: AppOptions): boolean =>
      new RpcApp({ router: new Router(), ...options }).dispatcher.config.console;
    setNodeEnv(t, undefined);
    assert.deepEqual(
      ['127.0.0.1', 'localhost', '::1', '0.0.0.0', 'example.com'].map((host) => isOn({ host })),
      [true, true, true, false, false],
    );
    assert.equal(isOn({ path: '/console' }), false);
    assert.equal(isOn({ socket: '/tmp/tandem.sock' }), false);
    process.env.NODE_ENV = 'production';
    assert.equal(isOn({}), false);
    assert.equal(isOn({ console: true, host: '0.0.0.0' }), true);
    assert.throws(
      () => isOn({ console: true, path: '/console/rpc' }),
      /option path: \/console\/rpc/,
    );
  });
});

describe('behind a mount the console', () => {
  async function mounted(
    t: TestContext,
    options: AppOptions,
    put: (app: RpcApp) => express.Express,
  ) {
    const { port } = await mountApp(t, { router: routerOfOne(), ...options }, put);
    return (path: string) => `http://127.0.0.1:${port}${path}`;
  }
  const below = (prefix: string) => (app: RpcApp) =>
    express()
      .use(prefix, app.nodeHandler())
      .get('/', (_request, response) => void response.send('home'));

  test('is not there unless it is asked for', async (t) => {
    const at = await mounted(t, {}, below('/api'));
    assert.equal((await get(at('/api/console/'))).status, 404);
  });

  test('lies below the path of the mount, and leaves / to its application', async (t) => {
    const at = await mounted(t, { console: true }, below('/api'));
    const page = await get(at('/api/console/'));
    assert.equal(page.status, 200);
    assert.equal(factsIn(page.body.toString()).calls, '../rpc');
    const [script = ''] = partsOf(page.body.toString());
    assert.equal((await get(at(`/api/console/${script}`))).status, 200);
    assert.equal((await get(at('/api/console'))).headers.location, 'console/');
    assert.equal((await get(at('/api/console/figures'))).status, 200);
    assert.equal((await get(at('/api/console/example?procedure=one'))).status, 200);
    assert.equal((await get(at('/'))).body.toString(), 'home');
  });

  test('may have a mount of its own', async (t) => {
    const at = await mounted(t, { console: true }, (app) => {
      const handler = app.nodeHandler();
      return express().use('/rpc', handler).use('/console', handler);
    });
    const page = await get(at('/console/'));
    assert.equal(page.status, 200);
    const [script = ''] = partsOf(page.body.toString());
    assert.equal((await get(at(`/console/${script}`))).status, 200);
    assert.equal((await get(at('/console/figures'))).status, 200);
    assert.equal((await get(at('/console/example?procedure=one'))).status, 200);
  });
});
