import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Dispatcher, Router } from '../../src/index.ts';
import { root } from '../files.ts';
import { setNodeEnv } from '../node-env.ts';
import { refusal } from '../refusal.ts';

/** What a service makes of its options; nothing is started. */
function configOf(options: object = {}) {
  return new Dispatcher({ router: new Router(), ...options }).config;
}

describe('defaults', () => {
  it('take the place of undefined, and the result is frozen', () => {
    const config = configOf({ port: undefined, maxBatch: 7 });
    assert.equal(config.port, 8000);
    assert.equal(config.maxBatch, 7);
    assert.ok(Object.isFrozen(config));
    assert.ok(Object.isFrozen(config.forwardHeaders));
  });

  it('let a whole request take as long as one call may', () => {
    assert.equal(configOf({ timeoutMs: 120_000 }).maxRequestMs, 120_000);
    assert.equal(configOf({ timeoutMs: 10 }).maxRequestMs, 60_000);
    assert.equal(configOf({ timeoutMs: 120_000, maxRequestMs: 5 }).maxRequestMs, 5);
  });

  it('have the check of results only logged in production', (t) => {
    setNodeEnv(t, 'production');
    assert.equal(configOf({ mcp: true }).checkResults, 'refuse');
    assert.equal(configOf().checkResults, 'log');
    assert.equal(configOf({ checkResults: 'off' }).checkResults, 'off');
    assert.equal(configOf({ checkResults: true }).checkResults, 'refuse');
    assert.equal(configOf({ checkResults: false }).checkResults, 'off');
  });

  it('pass through a second resolving unchanged', () => {
    const once = configOf({ corsOrigin: ['https://a.example'], forwardHeaders: ['X-Id'] });
    assert.deepEqual(configOf(once), once);
  });
});

describe('a wrong value', () => {
  it('says which option it is, what is allowed and what it was', () => {
    const allowed = 'expected a whole number, 0 to 65535, got';
    assert.equal(
      refusal(() => configOf({ port: 1.5 })),
      `option port: ${allowed} 1.5`,
    );
    assert.equal(
      refusal(() => configOf({ port: '8000' })),
      `option port: ${allowed} "8000"`,
    );
  });

  const values = {
    null: null,
    nan: Number.NaN,
    infinity: Number.POSITIVE_INFINITY,
    bigint: 10n,
    array: [],
    object: {},
    fn: () => 1,
    symbol: Symbol('s'),
  };
  for (const [kind, value] of Object.entries(values)) {
    it(`${kind} in code is refused in one line`, () => {
      assert.match(
        refusal(() => configOf({ maxBatch: value })),
        /^option maxBatch: /,
      );
    });
  }
});

describe('names', () => {
  it('that are unknown are refused, with the nearest one', () => {
    const message = (options: object) => refusal(() => configOf(options));
    assert.equal(message({ prot: 1 }), 'option prot is unknown; did you mean port?');
    assert.equal(message({ maxbatch: 1 }), 'option maxbatch is unknown; did you mean maxBatch?');
    assert.equal(message({ modlues: [] }), 'option modlues is unknown; did you mean modules?');
    assert.equal(
      message({ zzzzzzzz: 1 }),
      'option zzzzzzzz is unknown: docs/reference/options.md lists them',
    );
    assert.match(message({ constructor: 1 }), /^option constructor is unknown/);
  });
});

describe('servers of NATS', () => {
  it('may be one, given as a text', () => {
    assert.deepEqual(configOf({ nats: 'h:1' }).nats, ['h:1']);
  });

  it('have options that fit together', () => {
    const wrong = [
      [{ natsCert: 'c' }, /^option natsCert needs natsKey beside it/],
      [{ natsCreds: 'c', natsNkey: 'n' }, /^options natsCreds and natsNkey: /],
    ] as const;
    for (const [options, message] of wrong)
      assert.match(
        refusal(() => configOf(options)),
        message,
      );
  });
});

describe('what one caller may take', () => {
  it('is an object in code', () => {
    const none = { calls: 0, costMs: 0, burstSeconds: 1 };
    assert.deepEqual(configOf({ rateLimit: { calls: 5 } }).rateLimit, { ...none, calls: 5 });
    assert.deepEqual(configOf({ rateLimit: 'none' }).rateLimit, none);
  });

  it('is refused where it can not be', () => {
    for (const rateLimit of [5, null, [], [5], { calls: 1.5 }, { calls: '5' }, { cost: 1 }]) {
      assert.match(
        refusal(() => configOf({ rateLimit })),
        /^option rateLimit: expected none/,
      );
    }
  });

  it('is told apart by what fairBy names', () => {
    for (const fairBy of ['auto', 'address', 'auth.sub', 'auth.tenant_id']) {
      assert.equal(configOf({ fairBy }).fairBy, fairBy);
    }
    for (const fairBy of ['', 'auth', 'auth.', 'header:', 'header:a b', 'ip', 'auth.a.b']) {
      assert.match(
        refusal(() => configOf({ fairBy })),
        /^option fairBy: expected auto, address, auth\.<member>, or header:<name>/,
      );
    }
  });

  it('holds for the callers behind proxies that are addresses or networks', () => {
    const { trustedProxies } = configOf({ trustedProxies: ['10.0.0.0/8', '::1', 'fd00::/8'] });
    assert.deepEqual(trustedProxies, ['10.0.0.0/8', '::1', 'fd00::/8']);
    assert.deepEqual(configOf({ trustedProxies: 'none' }).trustedProxies, []);
    for (const entry of [
      '10.0.0.0/33',
      '::/129',
      'proxy',
      '10.0.0',
      '10.0.0.0/',
      '1.2.3.4/x',
      '*',
    ]) {
      assert.match(
        refusal(() => configOf({ trustedProxies: entry })),
        /^option trustedProxies: expected none, or addresses and networks/,
      );
    }
  });
});

describe('options that contradict each other', () => {
  it('are refused', () => {
    assert.match(
      refusal(() => configOf({ path: '/healthz' })),
      /^option path: \/healthz/,
    );
    assert.match(
      refusal(() => configOf({ path: '/mcp', mcp: true })),
      /^option path: \/mcp is where agents post to/,
    );
    assert.equal(configOf({ path: '/mcp' }).path, '/mcp');
    assert.match(
      refusal(() => configOf({ fairBy: 'header:x-tenant' })),
      /^option fairBy \(header:x-tenant\) needs trustedProxies/,
    );
    assert.match(
      refusal(() => configOf({ socket: '/run/rpc.sock', processes: 2 })),
      /^option socket: a Unix socket is of one process/,
    );
  });

  it('corsCredentials needs a list of origins', () => {
    assert.match(
      refusal(() => configOf({ corsCredentials: true })),
      /^option corsCredentials needs a list in corsOrigin/,
    );
    const corsOrigin = ['https://a.example'];
    assert.equal(configOf({ corsOrigin, corsCredentials: true }).corsCredentials, true);
  });
});

describe('docs/reference', () => {
  it('holds the current tables of options, metrics and log events', () => {
    const script = join(root, 'scripts/docs.ts');
    const run = spawnSync(process.execPath, ['--import', 'tsx', script, '--check'], {
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
  });
});

describe('groups of workers', () => {
  const own = { workers: 3, spareWorkers: 2, workerMemoryMb: 64, maxQueue: 7 };
  const rest = { maxWorkerMemory: 0, maxQueueMs: 5000 };

  it('have one worker where they do not say, and all else from the service', () => {
    const { groups } = configOf({
      ...own,
      groups: { gpu: {}, b: { workers: 2, maxQueue: 0 } },
    });
    assert.deepEqual(groups, {
      gpu: { ...own, ...rest, workers: 1 },
      b: { ...own, ...rest, workers: 2, maxQueue: 0 },
    });
    assert.ok(Object.isFrozen(groups) && Object.isFrozen(groups.gpu));
    assert.deepEqual(configOf(configOf({ groups })).groups, configOf({ groups }).groups);
  });

  for (const [what, groups, says] of [
    [
      'no worker',
      { gpu: { workers: 0 } },
      'workers of the group gpu to be a whole number, 1 to 1024, got 0',
    ],
    [
      'a text',
      { gpu: { maxQueue: '5' } },
      'maxQueue of the group gpu to be a whole number, 0 to 10000000, got "5"',
    ],
    [
      'an unknown member',
      { gpu: { worker: 1 } },
      'maxQueueMs, got "worker"; did you mean workers?',
    ],
    ['no object', { gpu: 4 }, 'the group gpu to be an object of workers, '],
    ['a bad name', { '9 lives': {} }, 'the name of a group to be 1 to 32 letters, '],
    ['a name from the prototype', JSON.parse('{"__proto__":{}}'), 'got "__proto__"'],
    ['the name of those that have none', { default: {} }, 'other than default, got "default"'],
    ['a list', [], 'expected none, or groups of workers by name with workers, '],
  ] as const) {
    it(`refuse ${what}`, () => {
      const message = refusal(() => configOf({ groups: groups as never }));
      assert.ok(message.startsWith('option groups: expected '), message);
      assert.ok(message.includes(says), message);
    });
  }
});
