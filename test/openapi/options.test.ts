/** The options of the HTTP facade: what the service refuses at its start, and what procedures may declare. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConfigOptions, resolveConfig } from '../../src/core/config/config.ts';
import {
  describedProcedure,
  describeProcedure,
} from '../../src/core/procedures/document/introspect.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { type CacheOptions, procedure, Router } from '../../src/index.ts';
import { refusal as refusalOf } from '../refusal.ts';
import { isRefused } from '../router/run.ts';

const readOnly = { readOnly: true };

const refusal = (options: ConfigOptions): string => refusalOf(() => resolveConfig(options));

describe('httpPath', () => {
  test('is off unless it is given; a variable or a flag may say none', () => {
    assert.equal(resolveConfig().httpPath, '');
    assert.equal(resolveConfig({}, { TANDEM_HTTP_PATH: '/api' }).httpPath, '/api');
    assert.equal(resolveConfig({}, { TANDEM_HTTP_PATH: 'none' }).httpPath, '');
  });

  test('neither is nor contains a path that something else has', () => {
    const all = { mcp: true, console: true, metrics: true };
    for (const [options, named] of [
      [{ httpPath: '/rpc' }, '/rpc'],
      [{ httpPath: '/api', path: '/api/rpc' }, '/api/rpc'],
      [{ httpPath: '/mcp' }, '/mcp'],
      [{ httpPath: '/console' }, '/console'],
      [{ httpPath: '/console/api' }, '/console/api'],
      [{ httpPath: '/metrics' }, '/metrics'],
      [{ httpPath: '/healthz' }, '/healthz'],
      [{ httpPath: '/readyz' }, '/readyz'],
      [{ httpPath: '/openapi.json' }, '/openapi.json'],
    ] as const) {
      const message = refusal({ ...all, ...options });
      assert.ok(message.startsWith(`option httpPath: ${named} `), message);
    }
    const taken = refusal({ httpPath: '/api', path: '/openapi.json' });
    assert.ok(taken.startsWith('option path: /openapi.json is '), taken);
  });

  test('may have a path that nothing has since that is off, or that only begins alike', () => {
    for (const options of [
      { httpPath: '/mcp' },
      { httpPath: '/metrics', metrics: false },
      { httpPath: '/console', console: false },
      { httpPath: '/openapi.json', introspection: false },
      { httpPath: '/rpc2' },
      { httpPath: '/a', path: '/ab' },
      { httpPath: '/v1/api' },
    ]) {
      assert.equal(resolveConfig(options).httpPath, options.httpPath);
    }
  });

  test('is refused where a URL or a router would read it otherwise', () => {
    for (const httpPath of [
      'api',
      '/',
      '/api/',
      '//api',
      '/a/../b',
      '/.',
      '/a:b',
      '/*',
      '/a%2F',
      '/a?b',
      `/${'x'.repeat(256)}`,
    ]) {
      assert.match(refusal({ httpPath }), /^option httpPath: expected none, or a path like \/api/);
    }
  });
});

describe('the other options', () => {
  test('have values that fit into a document and a header', () => {
    for (const [name, good, bad] of [
      [
        'httpAuth',
        ['bearer', 'basic', 'header:X-Api-Key', 'cookie:sid'],
        ['digest', 'header:', 'cookie:a b', 'header:a\r\nb'],
      ],
      [
        'publicUrl',
        ['', 'https://example.org', 'http://a.example:81/v1/x'],
        ['ftp://x', 'https://a/', 'https://a?b', '/api', 'https://a b'],
      ],
      ['httpProcedures', [['math.*'], []], ['a b', 3]],
    ] as const) {
      for (const value of good) assert.deepEqual(resolveConfig({ [name]: value })[name], value);
      for (const value of bad) {
        assert.match(
          refusal({ [name]: value } as ConfigOptions),
          new RegExp(`^option ${name}: expected`),
        );
      }
    }
    assert.deepEqual(resolveConfig({ httpProcedures: 'math.*' }).httpProcedures, ['math.*']);
  });
});

describe('the option cache of a procedure', () => {
  test('is completed', () => {
    const made = (cache: CacheOptions) =>
      procedure({ name: 'p', effects: readOnly, cache }, () => 1).cache;
    assert.deepEqual(made({ maxAgeSeconds: 0 }), {
      maxAgeSeconds: 0,
      scope: 'private',
      staleSeconds: 0,
    });
    const whole: CacheOptions = { maxAgeSeconds: 60, scope: 'public', staleSeconds: 5 };
    assert.deepEqual(made(whole), whole);
    assert.equal(procedure({ name: 'p' }, () => 1).cache, undefined);
  });

  test('is refused for what changes something, for streams, and where it makes no sense', () => {
    const minute = { maxAgeSeconds: 60 };
    const made = (options: object, handler = (): unknown => 1) =>
      procedure({ name: 'p', effects: readOnly, cache: minute, ...options }, handler);
    isRefused(
      () => made({ effects: undefined }),
      /option cache needs effects: \{ readOnly: true \}/,
    );
    isRefused(() => made({ effects: { idempotent: true } }), /needs effects/);
    isRefused(() => made({ stream: true }), /not for a stream/);
    isRefused(() => made({}, function* () {}), /option cache is not for a stream/);
    for (const [cache, message] of [
      [{}, /cache\.maxAgeSeconds must be a whole number/],
      [{ maxAgeSeconds: -1 }, /cache\.maxAgeSeconds must be/],
      [{ maxAgeSeconds: 1.5 }, /cache\.maxAgeSeconds must be/],
      [{ ...minute, staleSeconds: 1e12 }, /cache\.staleSeconds must be/],
      [{ ...minute, scope: 'shared' }, /cache\.scope must be/],
      [{ ...minute, staleSecond: 1 }, /unknown option "cache\.staleSecond".*did you mean/],
      [[1], /option cache must be an object/],
    ] as const) {
      isRefused(() => made({ cache }), message);
    }
  });
});

describe('what a service knows of the facade', () => {
  const guarded = new Router();
  guarded.rpc(
    {
      name: 'mine',
      effects: readOnly,
      cache: { maxAgeSeconds: 60, scope: 'public', staleSeconds: 9 },
      authorize: () => {},
    },
    () => 1,
  );

  test('a shared cache must not keep what depends on who calls', () => {
    const table = tableOf(guarded);
    // A start is refused (starting.test.ts), a reload is not: what it brings is kept by the caller alone.
    const headers = [true, false].map(
      (hasAuth) => new Operations(table, [], hasAuth).find('mine')?.cacheControl,
    );
    assert.deepEqual(headers, [
      'private, max-age=60, stale-while-revalidate=9',
      'public, max-age=60, stale-while-revalidate=9',
    ]);
  });

  test('reaches a gateway, where nobody sees what decides by who calls', () => {
    const [described] = Array.from(tableOf(guarded).values(), describeProcedure);
    assert.ok(described);
    const there = describedProcedure(JSON.parse(JSON.stringify(described)));
    assert.deepEqual(there.cache, { maxAgeSeconds: 60, scope: 'private', staleSeconds: 9 });
    const hidden = describeProcedure(procedure({ name: 'p', httpApi: false }, () => 1));
    assert.equal(describedProcedure(JSON.parse(JSON.stringify(hidden))).httpApi, false);
  });
});

describe('the status of a declared error', () => {
  test('is refused where it is none', () => {
    for (const status of [200, 399, 600, 408, 421, 400.5, Number.NaN, '409', null]) {
      const errors = { A: { code: 1, message: 'x', status: status as number } };
      isRefused(() => procedure({ name: 'p', errors }, () => 1), /errors\.A\.status must be/);
    }
  });
});
