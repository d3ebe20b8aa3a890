import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type ConfigOptions,
  misspeltVariables,
  optionNames,
  optionsFromFlags,
  resolveConfig,
} from '../../src/core/config/config.ts';
import { coresHere } from '../../src/core/config/cores.ts';
import { flagOf, type Option, variablesOf } from '../../src/core/config/option.ts';
import { packageVersion, table } from '../../src/core/config/table.ts';
import { StartupError } from '../../src/index.ts';
import { root } from '../files.ts';

/** The message of the StartupError that `run` throws; one line. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof StartupError, `expected a StartupError, got ${String(error)}`);
    assert.doesNotMatch(error.message, /[\r\n]/);
    return error.message;
  }
  return assert.fail('expected a StartupError, nothing was thrown');
}

/** Options as untyped JavaScript gives them. */
function untyped(options: object): ConfigOptions {
  return options as ConfigOptions;
}

describe('defaults', () => {
  it('are those of the specification', () => {
    const { workers, checkResults, ...rest } = resolveConfig();
    assert.deepEqual(rest, {
      host: '127.0.0.1',
      port: 8000,
      socket: '',
      socketMode: 0o600,
      path: '/rpc',
      transport: 'auto',
      corsOrigin: '*',
      corsHeaders: [],
      corsCredentials: false,
      allowedHosts: [],
      trustedProxies: [],
      tlsKey: '',
      tlsCert: '',
      hooks: '',
      forwardHeaders: [],
      health: true,
      processes: 1,
      supervisor: true,
      maxZombies: 8,
      maxProcessMb: 0,
      watchdogTimeoutMs: 30_000,
      spareWorkers: 1,
      groups: {},
      maxOrphansPerWorker: 4096,
      maxCallsPerWorker: 0,
      maxWorkerMemory: 0,
      workerMemoryMb: 0,
      niceIncrement: 10,
      timeoutMs: 30_000,
      maxRequestMs: 60_000,
      maxQueueMs: 5000,
      bodyTimeoutMs: 10_000,
      writeTimeoutMs: 10_000,
      webSocket: true,
      streamPingMs: 15_000,
      socketIdleMs: 60_000,
      maxCallsPerConnection: 1000,
      maxStreamsPerConnection: 100,
      maxStreams: 10_000,
      maxStreamMs: 0,
      maxHeaderBytes: 16_384,
      maxHeaders: 96,
      maxInFlight: 20_000,
      watch: false,
      startTimeoutMs: 30_000,
      shutdownGraceMs: 10_000,
      maxBodyBytes: 10_485_760,
      maxBodyMemory: 268_435_456,
      maxReplyMemory: 268_435_456,
      maxReplyBytes: 26_214_400,
      maxInlineParamsBytes: 256 * 1024,
      maxBatch: 1000,
      batchConcurrency: 1,
      overlapReads: false,
      maxDepth: 64,
      maxQueue: 10_000,
      maxConnections: 10_000,
      rateLimit: { calls: 0, costMs: 0, burstSeconds: 1 },
      maxInFlightPerCaller: 0,
      fairBy: 'auto',
      strict: false,
      console: true,
      mcp: false,
      mcpPath: '/mcp',
      mcpTools: [],
      mcpName: 'tandem-rpc',
      introspection: true,
      nats: [],
      natsRole: 'member',
      natsCreds: '',
      natsNkey: '',
      natsCa: '',
      natsCert: '',
      natsKey: '',
      http: true,
      service: ['tandem'],
      serviceVersion: '0.0.0',
      natsHeartbeatMs: 500,
      memberSilentMs: 2000,
      memberHungMs: 10_000,
      memberGoneMs: 3000,
      memberInFlight: 1024,
      memberBytes: 8 * 1024 ** 2,
      natsTrustAuth: false,
      natsEndpoints: true,
      natsReplyPrefixes: [],
      logLevel: 'info',
      maxLogBytesPerSecond: 1_048_576,
      accessLog: false,
      metrics: true,
      metricsPort: 'same',
      tracing: false,
    });
    assert.equal(workers, Math.max(1, coresHere().count - 1));
    assert.equal(checkResults, process.env.NODE_ENV === 'production' ? 'log' : 'refuse');
  });

  it('take the place of undefined, and the result is frozen', () => {
    const config = resolveConfig({ port: undefined, maxBatch: 7 });
    assert.equal(config.port, 8000);
    assert.equal(config.maxBatch, 7);
    assert.ok(Object.isFrozen(config));
    assert.ok(Object.isFrozen(config.forwardHeaders));
  });

  it('let a whole request take as long as one call may', () => {
    assert.equal(resolveConfig({ timeoutMs: 120_000 }).maxRequestMs, 120_000);
    assert.equal(resolveConfig({ timeoutMs: 10 }).maxRequestMs, 60_000);
    assert.equal(resolveConfig({ timeoutMs: 120_000, maxRequestMs: 5 }).maxRequestMs, 5);
  });

  it('share the cores out among the processes', () => {
    const cores = coresHere().count;
    for (const processes of [1, 2, cores, 4 * cores]) {
      const expected = Math.max(1, Math.floor(cores / processes) - 1);
      assert.equal(resolveConfig({ processes }).workers, expected);
    }
  });

  it('have the check of results only logged in production', () => {
    const before = process.env.NODE_ENV;
    try {
      process.env.NODE_ENV = 'production';
      assert.equal(resolveConfig({ mcp: true }).checkResults, 'refuse');
      assert.equal(resolveConfig().checkResults, 'log');
      assert.equal(resolveConfig({ checkResults: 'off' }).checkResults, 'off');
      assert.equal(resolveConfig({ checkResults: true }).checkResults, 'refuse');
      assert.equal(resolveConfig({ checkResults: false }).checkResults, 'off');
    } finally {
      if (before === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = before;
    }
  });

  it('pass through a second resolving unchanged', () => {
    const once = resolveConfig({ corsOrigin: ['https://a.example'], forwardHeaders: ['X-Id'] });
    assert.deepEqual(resolveConfig(once), once);
  });
});

describe('sources', () => {
  it('rank: given, then TANDEM_ variable, then PORT, then default', () => {
    assert.equal(resolveConfig({}, { PORT: '1' }).port, 1);
    assert.equal(resolveConfig({}, { PORT: '1', TANDEM_PORT: '2' }).port, 2);
    assert.equal(resolveConfig({ port: 3 }, { PORT: '1', TANDEM_PORT: '2' }).port, 3);
  });

  it('do not include the process environment unless it is passed', () => {
    process.env.TANDEM_MAX_BATCH = '5';
    try {
      assert.equal(resolveConfig().maxBatch, 1000);
    } finally {
      delete process.env.TANDEM_MAX_BATCH;
    }
  });

  it('know a variable by the name of the option and by that of the flag', () => {
    assert.equal(resolveConfig({}, { TANDEM_TIMEOUT: '2s' }).timeoutMs, 2000);
    const both = { TANDEM_TIMEOUT: '2s', TANDEM_TIMEOUT_MS: '700' };
    assert.equal(resolveConfig({}, both).timeoutMs, 700);
  });

  it('count an empty variable as not set', () => {
    assert.equal(resolveConfig({}, { TANDEM_PORT: '', PORT: ' ' }).port, 8000);
  });

  it('have a variable for every option', () => {
    for (const name of optionNames) {
      const variable = `TANDEM_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
      // No option takes this text, so each refusal proves that the variable was read.
      const message = refusal(() => resolveConfig({}, { [variable]: ' \u0001 ' }));
      assert.ok(message.startsWith(`${variable}: expected `), message);
    }
  });
});

describe('text of flags and variables', () => {
  const cases: [flags: Record<string, string | boolean | string[]>, expected: ConfigOptions][] = [
    [{ maxBodyBytes: '10mb' }, { maxBodyBytes: 10 * 1024 * 1024 }],
    [{ maxBodyBytes: '512KB' }, { maxBodyBytes: 512 * 1024 }],
    [{ maxBodyBytes: '1.5 MiB' }, { maxBodyBytes: 1_572_864 }],
    [{ maxBodyBytes: '12345' }, { maxBodyBytes: 12_345 }],
    [{ timeoutMs: '30s' }, { timeoutMs: 30_000 }],
    [{ timeoutMs: '5m' }, { timeoutMs: 300_000 }],
    [{ timeoutMs: '250ms' }, { timeoutMs: 250 }],
    [{ timeoutMs: '250' }, { timeoutMs: 250 }],
    [{ port: '0' }, { port: 0 }],
    [{ workerMemoryMb: '0' }, { workerMemoryMb: 0 }],
    [
      { strict: true, health: false },
      { strict: true, health: false },
    ],
    [
      { strict: 'on', health: '0' },
      { strict: true, health: false },
    ],
    [{ corsOrigin: '*' }, { corsOrigin: '*' }],
    [{ corsOrigin: 'none' }, { corsOrigin: [] }],
    [
      { corsHeaders: 'none', forwardHeaders: ['none'], hooks: 'none' },
      { corsHeaders: [], forwardHeaders: [], hooks: '' },
    ],
    [
      { corsOrigin: ['https://a.example, https://b.example:8443', 'http://localhost:3000'] },
      { corsOrigin: ['https://a.example', 'https://b.example:8443', 'http://localhost:3000'] },
    ],
    [
      { corsHeaders: 'X-Tenant', corsCredentials: true },
      { corsHeaders: ['x-tenant'], corsCredentials: true },
    ],
    [
      { socket: '/run/rpc.sock', socketMode: '660' },
      { socket: '/run/rpc.sock', socketMode: 0o660 },
    ],
    [
      { forwardHeaders: 'X-User,x-user, traceparent' },
      { forwardHeaders: ['x-user', 'traceparent'] },
    ],
    [
      { logLevel: 'debug', transport: 'node' },
      { logLevel: 'debug', transport: 'node' },
    ],
  ];
  for (const [flags, expected] of cases) {
    it(`${JSON.stringify(flags)}`, () => {
      assert.deepEqual(optionsFromFlags(flags), expected);
    });
  }
});

describe('a wrong value', () => {
  const refused: [name: string, text: string][] = [
    ['port', 'abc'],
    ['port', '-1'],
    ['port', '65536'],
    ['port', '80.5'],
    ['port', '0x50'],
    ['port', '1e3'],
    ['port', 'tcp://10.0.0.1:8000'],
    ['host', 'a b'],
    ['path', 'rpc'],
    ['path', '/rpc?x'],
    ['path', '/:rpc'],
    ['path', '/*'],
    ['path', '/a\r\nb'],
    ['transport', 'http2'],
    ['corsOrigin', 'https://a.example/'],
    ['corsOrigin', 'a.example'],
    ['corsOrigin', '*,https://a.example'],
    ['corsOrigin', 'https://a.example\r\nx: y'],
    ['forwardHeaders', 'x user'],
    ['forwardHeaders', '*'],
    ['socketMode', '668'],
    ['socketMode', '1777'],
    ['socketMode', 'rw'],
    ['corsHeaders', '*'],
    ['corsHeaders', 'x-a,*'],
    ['workers', '0'],
    ['workerMemoryMb', '8'],
    ['niceIncrement', '20'],
    ['timeoutMs', '0'],
    ['timeoutMs', '30h'],
    ['timeoutMs', '2147483648'],
    ['maxBodyBytes', '10mbit'],
    ['maxBodyBytes', '0'],
    ['maxBodyBytes', '1gb'],
    ['maxBatch', '0'],
    ['maxDepth', '1001'],
    ['strict', 'maybe'],
    ['strict', 'constructor'],
    ['logLevel', 'verbose'],
    ['nats', 'ws://h:4222'],
    ['nats', 'nats://'],
    ['nats', 'nats://h/path'],
    ['nats', 'a b'],
    ['service', 'a.b'],
    ['service', '*'],
    ['serviceVersion', '1.2'],
    ['natsHeartbeatMs', '0'],
    ['memberInFlight', '0'],
  ];
  for (const [name, text] of refused) {
    it(`${name}=${JSON.stringify(text)} is refused in a flag`, () => {
      const message = refusal(() => optionsFromFlags({ [name]: text }));
      assert.match(message, /^--[a-z-]+: expected .+, got "/);
      assert.ok(message.endsWith(JSON.stringify(text)), message);
    });
  }

  it('that names nothing is refused, so that nothing is left out by mistake', () => {
    for (const name of optionNames) {
      const option: Option<unknown> = table[name];
      if (option.kind.placeholder === undefined) continue;
      for (const text of ['', ' ', ',']) {
        const flag = `--${flagOf(name, option)}`;
        const message = refusal(() => optionsFromFlags({ [name]: text }));
        assert.ok(message.startsWith(`${flag}: expected ${option.kind.allowed}, got "`), message);
      }
      const [variable = ''] = variablesOf(name, option);
      assert.match(
        refusal(() => resolveConfig({}, { [variable]: ',' })),
        /: expected .+, got ","$/,
      );
    }
  });

  it('says where it came from, what is allowed and what it was', () => {
    const allowed = 'expected a whole number, 0 to 65535, got';
    assert.equal(
      refusal(() => optionsFromFlags({ port: 'x' })),
      `--port: ${allowed} "x"`,
    );
    assert.equal(
      refusal(() => resolveConfig({}, { TANDEM_PORT: 'x' })),
      `TANDEM_PORT: ${allowed} "x"`,
    );
    assert.equal(
      refusal(() => resolveConfig({}, { PORT: 'x' })),
      `PORT: ${allowed} "x"`,
    );
    assert.equal(
      refusal(() => resolveConfig({ port: 1.5 })),
      `option port: ${allowed} 1.5`,
    );
    assert.equal(
      refusal(() => resolveConfig(untyped({ port: '8000' }))),
      `option port: ${allowed} "8000"`,
    );
  });

  it('names the flag as it is written, not the option', () => {
    assert.match(
      refusal(() => optionsFromFlags({ shutdownGraceMs: 'x' })),
      /^--shutdown-grace: /,
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
        refusal(() => resolveConfig(untyped({ maxBatch: value }))),
        /^option maxBatch: /,
      );
    });
  }

  it('is cut short in the message', () => {
    const message = refusal(() => optionsFromFlags({ host: 'x '.repeat(10_000) }));
    assert.ok(message.length < 200, `${message.length}`);
  });

  it('of a variable that a flag overrides is not looked at', () => {
    assert.equal(resolveConfig({ port: 9000 }, { PORT: 'x' }).port, 9000);
  });
});

describe('names', () => {
  it('that are unknown are refused, with the nearest one', () => {
    const message = (options: object, others?: string[]) =>
      refusal(() => resolveConfig(untyped(options), {}, others));
    assert.equal(message({ prot: 1 }), 'option prot is unknown: did you mean port?');
    assert.equal(message({ maxbatch: 1 }), 'option maxbatch is unknown: did you mean maxBatch?');
    assert.equal(
      message({ modlues: [] }, ['modules']),
      'option modlues is unknown: did you mean modules?',
    );
    assert.equal(
      message({ zzzzzzzz: 1 }),
      'option zzzzzzzz is unknown: docs/reference/options.md lists them',
    );
    assert.match(message({ constructor: 1 }), /^option constructor is unknown/);
  });

  it('of environment variables that are near misses are reported, others left alone', () => {
    const env = {
      TANDEM_PROT: '1',
      TANDEM_WORKER: '2',
      TANDEM_DEBUG: '1',
      TANDEM_PORT: '8000',
      // What Kubernetes sets for a service that is called tandem.
      TANDEM_SERVICE_HOST: '10.0.0.1',
      TANDEM_PORT_8000_TCP_ADDR: '10.0.0.1',
    };
    assert.deepEqual(misspeltVariables(env), [
      { name: 'TANDEM_PROT', meant: 'TANDEM_PORT' },
      { name: 'TANDEM_WORKER', meant: 'TANDEM_WORKERS' },
    ]);
  });
});

describe('servers of NATS', () => {
  it('are one or several, with a scheme or without', () => {
    const { nats } = optionsFromFlags({
      nats: ['nats://a:b@h:4222', 'tls://h', 'h2:1,[::1]:4222'],
    });
    assert.deepEqual(nats, ['nats://a:b@h:4222', 'tls://h', 'h2:1', '[::1]:4222']);
    assert.deepEqual(resolveConfig({ nats: 'h:1' }).nats, ['h:1']);
    assert.deepEqual(resolveConfig({}, { TANDEM_NATS: 'none' }).nats, []);
  });

  it('never show their passwords in a message, nor those of the others', () => {
    const message = refusal(() =>
      optionsFromFlags({ nats: 'nats://a:secret@h:4222,http://b:secret@h' }),
    );
    assert.match(message, /^--nats: expected entry 2 to be .+, got "http:\/\/\*\*\*@h"$/);
    assert.doesNotMatch(message, /secret/);
  });

  it('make a version needed, which is that of package.json', () => {
    assert.equal(resolveConfig({}).serviceVersion, '0.0.0');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.equal(packageVersion(join(root, 'src', 'extras', 'nats')), version);
    assert.equal(packageVersion('/'), '0.0.0');
  });

  it('are needed where HTTP is off, and their other options fit together', () => {
    const wrong = [
      [{ http: false }, /^option http: without HTTP nobody could call/],
      [{ natsCert: 'c' }, /^option natsCert needs natsKey beside it/],
      [{ natsCreds: 'c', natsNkey: 'n' }, /^options natsCreds and natsNkey: /],
      [{ memberSilentMs: 900 }, /^option memberSilentMs \(900\) must be at least twice/],
      [{ memberHungMs: 1900 }, /^option memberHungMs \(1900\) must not be below/],
    ] as const;
    for (const [options, message] of wrong)
      assert.match(
        refusal(() => resolveConfig(options)),
        message,
      );
    assert.equal(resolveConfig({ http: false, nats: 'h' }).http, false);
  });
});

describe('what one caller may take', () => {
  it('is an object in code, and pairs in text', () => {
    const none = { calls: 0, costMs: 0, burstSeconds: 1 };
    const env = (text: string) => resolveConfig({}, { TANDEM_RATE_LIMIT: text }).rateLimit;
    assert.deepEqual(resolveConfig({ rateLimit: { calls: 5 } }).rateLimit, { ...none, calls: 5 });
    assert.deepEqual(resolveConfig({ rateLimit: 'none' }).rateLimit, none);
    assert.deepEqual(env('none'), none);
    assert.deepEqual(env('calls=100, burstSeconds=2'), { calls: 100, costMs: 0, burstSeconds: 2 });
    assert.deepEqual(env('costMs=500'), { ...none, costMs: 500 });
  });

  it('is refused where it can not be', () => {
    for (const text of [
      '100',
      'calls',
      'calls=',
      'calls=-1',
      'calls=x',
      'call=5',
      'burstSeconds=0',
      '__proto__=1',
      'toString=1',
    ]) {
      assert.match(
        refusal(() => resolveConfig({}, { TANDEM_RATE_LIMIT: text })),
        /^TANDEM_RATE_LIMIT: expected none, or calls and costMs/,
        text,
      );
    }
    for (const rateLimit of [5, [], null, { calls: 1.5 }, { calls: '5' }, { cost: 1 }]) {
      assert.match(
        refusal(() => resolveConfig(untyped({ rateLimit }))),
        /^option rateLimit: expected none/,
      );
    }
  });

  it('is told apart by what fairBy names', () => {
    for (const fairBy of ['auto', 'address', 'auth.sub', 'auth.tenant_id']) {
      assert.equal(resolveConfig({ fairBy }).fairBy, fairBy);
    }
    for (const fairBy of ['', 'auth', 'auth.', 'header:', 'header:a b', 'ip', 'auth.a.b']) {
      assert.match(
        refusal(() => resolveConfig({ fairBy })),
        /^option fairBy: expected auto, address, auth\.<member>, or header:<name>/,
      );
    }
  });

  it('holds for the callers behind proxies that are addresses or networks', () => {
    const { trustedProxies } = resolveConfig({ trustedProxies: ['10.0.0.0/8', '::1', 'fd00::/8'] });
    assert.deepEqual(trustedProxies, ['10.0.0.0/8', '::1', 'fd00::/8']);
    assert.deepEqual(resolveConfig({ trustedProxies: 'none' }).trustedProxies, []);
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
        refusal(() => resolveConfig({ trustedProxies: entry })),
        /^option trustedProxies: expected none, or addresses and networks/,
      );
    }
  });
});

describe('options that contradict each other', () => {
  it('are refused', () => {
    assert.match(
      refusal(() => resolveConfig({ path: '/healthz' })),
      /^option path: \/healthz/,
    );
    assert.equal(resolveConfig({ path: '/healthz', health: false }).path, '/healthz');
    assert.match(
      refusal(() => resolveConfig({ fairBy: 'header:x-tenant' })),
      /^option fairBy \(header:x-tenant\) needs trustedProxies/,
    );
    assert.match(
      refusal(() => resolveConfig({ socket: '/run/rpc.sock', processes: 2 })),
      /^option socket: a Unix socket is of one process/,
    );
  });

  it('corsCredentials needs a list of origins', () => {
    assert.match(
      refusal(() => resolveConfig({ corsCredentials: true })),
      /^option corsCredentials needs a list in corsOrigin/,
    );
    const corsOrigin = ['https://a.example'];
    assert.equal(resolveConfig({ corsOrigin, corsCredentials: true }).corsCredentials, true);
  });
});

describe('docs/reference/options.md', () => {
  it('holds the current table', () => {
    const script = join(root, 'scripts/docs.ts');
    const run = spawnSync(process.execPath, ['--import', 'tsx', script, '--check'], {
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
  });

  it('has a row for every option', () => {
    const page = readFileSync(join(root, 'docs/reference/options.md'), 'utf8');
    for (const name of optionNames) assert.ok(page.includes(`| \`${name}\` |`), name);
  });
});

describe('groups of workers', () => {
  const own = { workers: 3, spareWorkers: 2, workerMemoryMb: 64, maxQueue: 7 };
  const rest = {
    maxCallsPerWorker: 0,
    maxWorkerMemory: 0,
    maxOrphansPerWorker: 4096,
    maxQueueMs: 5000,
  };

  it('have one worker where they do not say, and all else from the service', () => {
    const { groups } = resolveConfig({
      ...own,
      groups: { gpu: {}, b: { workers: 2, maxQueue: 0 } },
    });
    assert.deepEqual(groups, {
      gpu: { ...own, ...rest, workers: 1 },
      b: { ...own, ...rest, workers: 2, maxQueue: 0 },
    });
    assert.ok(Object.isFrozen(groups) && Object.isFrozen(groups.gpu));
    assert.deepEqual(
      resolveConfig(resolveConfig({ groups })).groups,
      resolveConfig({ groups }).groups,
    );
  });

  it('are written as flags and variables, one or several at a time', () => {
    const read = (...texts: string[]) => optionsFromFlags({ groups: texts }).groups;
    assert.deepEqual(read('gpu:workers=2,workerMemoryMb=64'), {
      gpu: { workers: 2, workerMemoryMb: 64 },
    });
    const two = { a: { maxWorkerMemory: 1024 ** 3, maxQueueMs: 2000 }, b: {} };
    assert.deepEqual(read('a:maxWorkerMemory=1gb,maxQueueMs=2s', 'b'), two);
    assert.deepEqual(read('a:maxWorkerMemory=1gb,maxQueueMs=2s,b'), two);
    assert.deepEqual(read('a:workers=1', 'a:maxQueue=0'), { a: { workers: 1, maxQueue: 0 } });
    assert.deepEqual(read('none'), {});
    const { groups } = resolveConfig({}, { TANDEM_GROUP: 'gpu:workers=2' });
    assert.equal(groups.gpu?.workers, 2);
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
      'maxQueueMs (did you mean workers?), got "worker"',
    ],
    ['no object', { gpu: 4 }, 'the group gpu to be an object of workers, '],
    ['a bad name', { '9 lives': {} }, 'the name of a group to be 1 to 32 letters, '],
    ['a name from the prototype', JSON.parse('{"__proto__":{}}'), 'got "__proto__"'],
    ['the name of those that have none', { default: {} }, 'other than default, got "default"'],
    ['a list', [], 'expected none, or groups of workers by name with workers, '],
  ] as const) {
    it(`refuse ${what}`, () => {
      const message = refusal(() => resolveConfig({ groups: groups as never }));
      assert.ok(message.startsWith('option groups: expected '), message);
      assert.ok(message.includes(says), message);
    });
  }

  for (const text of [
    'gpu:workers',
    'workers=1',
    ':workers=1',
    'a:workers=1=2x',
    'a:b:workers=1',
  ]) {
    it(`refuse ${text} as a flag`, () => {
      const message = refusal(() => resolveConfig(optionsFromFlags({ groups: [text] })));
      assert.match(message, /^--group: expected [^\n]+$/);
    });
  }
});
