/** Options as text: flags of the command line, and variables of the environment. */
import assert from 'node:assert/strict';
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
import { flagOf, type Option, variableOf } from '../../src/core/config/option.ts';
import { packageVersion, table } from '../../src/core/config/table.ts';
import { root } from '../files.ts';
import { refusal } from '../refusal.ts';

describe('sources', () => {
  it('rank: given, then the variable, then the default', () => {
    assert.equal(resolveConfig({}, {}).port, 8000);
    assert.equal(resolveConfig({}, { PORT: '1' }).port, 1);
    assert.equal(resolveConfig({ port: 3 }, { PORT: '1' }).port, 3);
  });

  it('do not include the process environment unless it is passed', () => {
    process.env.TANDEM_MAX_BATCH = '5';
    try {
      assert.equal(resolveConfig().maxBatch, 1000);
    } finally {
      delete process.env.TANDEM_MAX_BATCH;
    }
  });

  it('have one variable for an option: TANDEM_ and its flag, and PORT', () => {
    assert.equal(resolveConfig({}, { TANDEM_TIMEOUT: '2s' }).timeoutMs, 2000);
    const others = { TANDEM_TIMEOUT_MS: '700', TANDEM_PORT: '1' };
    assert.deepEqual(resolveConfig({}, others), resolveConfig({}, {}));
  });

  it('count an empty variable as not set', () => {
    assert.equal(resolveConfig({}, { TANDEM_WORKERS: '', PORT: ' ' }).port, 8000);
  });

  it('have a variable for every option', () => {
    for (const name of optionNames) {
      const flag = flagOf(name, table[name] as Option<unknown>);
      const variable =
        name === 'port' ? 'PORT' : `TANDEM_${flag.toUpperCase().replaceAll('-', '_')}`;
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
    [
      { mcpAuthorizationServers: ['https://a.example', 'https://b.example/t/,http://c:81'] },
      { mcpAuthorizationServers: ['https://a.example', 'https://b.example/t/', 'http://c:81'] },
    ],
    [{ mcpAuthorizationServers: ['none'] }, { mcpAuthorizationServers: [] }],
    [{ mcpScopes: ['notes:read, notes:write'] }, { mcpScopes: ['notes:read', 'notes:write'] }],
    [{ workerMemoryMb: '0' }, { workerMemoryMb: 0 }],
    [
      { strict: true, metrics: false },
      { strict: true, metrics: false },
    ],
    [
      { strict: 'on', metrics: '0' },
      { strict: true, metrics: false },
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
      const variable = variableOf(name, option);
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
      refusal(() => resolveConfig({}, { PORT: 'x' })),
      `PORT: ${allowed} "x"`,
    );
  });

  it('names the flag as it is written, not the option', () => {
    assert.match(
      refusal(() => optionsFromFlags({ shutdownGraceMs: 'x' })),
      /^--shutdown-grace: /,
    );
  });

  it('is cut short in the message', () => {
    const message = refusal(() => optionsFromFlags({ host: 'x '.repeat(10_000) }));
    assert.ok(message.length < 200, `${message.length}`);
  });

  it('of a variable that a flag overrides is not looked at', () => {
    assert.equal(resolveConfig({ port: 9000 }, { PORT: 'x' }).port, 9000);
  });
});

describe('names', () => {
  it('of environment variables that are near misses are reported, others left alone', () => {
    const env = {
      TANDEM_PROT: '1',
      TANDEM_WORKER: '2',
      TANDEM_DEBUG: '1',
      TANDEM_MAX_BODY: '1mb',
      // By the names of the options.
      TANDEM_PORT: '8000',
      TANDEM_MAX_BODY_BYTES: '1mb',
      // What Kubernetes sets for a service that is called tandem.
      TANDEM_SERVICE_HOST: '10.0.0.1',
      TANDEM_PORT_8000_TCP_ADDR: '10.0.0.1',
    };
    assert.deepEqual(misspeltVariables(env), [
      { name: 'TANDEM_PROT', meant: 'PORT' },
      { name: 'TANDEM_WORKER', meant: 'TANDEM_WORKERS' },
      { name: 'TANDEM_PORT', meant: 'PORT' },
      { name: 'TANDEM_MAX_BODY_BYTES', meant: 'TANDEM_MAX_BODY' },
    ]);
  });
});

describe('servers of NATS', () => {
  it('are one or several, with a scheme or without', () => {
    const { nats } = optionsFromFlags({
      nats: ['nats://a:b@h:4222', 'tls://h', 'h2:1,[::1]:4222'],
    });
    assert.deepEqual(nats, ['nats://a:b@h:4222', 'tls://h', 'h2:1', '[::1]:4222']);
    assert.deepEqual(resolveConfig({}, { TANDEM_NATS: 'none' }).nats, []);
  });

  it('never show their passwords in a message, nor those of the others', () => {
    const message = refusal(() =>
      optionsFromFlags({ nats: 'nats://a:secret@h:4222,http://b:secret@h' }),
    );
    assert.match(message, /^--nats: expected entry 2 to be .+, got "http:\/\/\*\*\*@h"$/);
    assert.doesNotMatch(message, /secret/);
  });

  it('make a version needed, which is that of the nearest package.json', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    assert.equal(packageVersion(join(root, 'src', 'extras', 'nats')), version);
    assert.equal(packageVersion('/'), '0.0.0');
  });
});

describe('what one caller may take, as text', () => {
  it('is pairs', () => {
    const none = { calls: 0, costMs: 0, burstSeconds: 1 };
    const env = (text: string) => resolveConfig({}, { TANDEM_RATE_LIMIT: text }).rateLimit;
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
  });
});

describe('groups of workers, as text', () => {
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
