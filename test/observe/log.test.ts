import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog, type Log, type LogLevel, type LogOptions } from '../../src/core/observe/log.ts';

function record(options: Partial<LogOptions> & { level: LogLevel }): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ pretty: false, write: (line) => lines.push(line), ...options });
  return { log, lines };
}

function writeAll(log: Log): void {
  log.debug({ event: 'ready' }, 'debug');
  log.info({ event: 'ready' }, 'info');
  log.warn({ event: 'ready' }, 'warn');
  log.error({ event: 'ready' }, 'error');
}

describe('levels', () => {
  const expected: Record<LogLevel, string[]> = {
    silent: [],
    error: ['error'],
    warn: ['warn', 'error'],
    info: ['info', 'warn', 'error'],
    debug: ['debug', 'info', 'warn', 'error'],
  };
  for (const [level, messages] of Object.entries(expected)) {
    it(`${level} writes ${messages.join(', ') || 'nothing'}`, () => {
      const { log, lines } = record({ level: level as LogLevel });
      writeAll(log);
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
        messages,
      );
    });
  }
});

it('setLevel() changes what is written, and always() writes at any level', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'silent', pretty: false, write: (line) => lines.push(line) });
  log.error({ event: 'ready' }, 'before');
  log.always({ event: 'log-level' }, 'always');
  log.setLevel('debug');
  log.debug({ event: 'ready' }, 'between');
  log.setLevel('error');
  log.warn({ event: 'ready' }, 'after');
  log.error({ event: 'ready' }, 'last');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['always', 'between', 'last'],
  );
  assert.equal(log.level, 'error');
});

describe('JSON lines', () => {
  it('hold time, level by name, fields and message, one line each whatever is in them', () => {
    const { log, lines } = record({ level: 'info' });
    log.warn({ event: 'worker-lost', worker: 3, reason: 'two\nlines' }, 'worker\r\nlost');
    assert.equal(lines.length, 1);
    const [line = ''] = lines;
    assert.equal(line.indexOf('\n'), line.length - 1);
    const { time, pid, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual(rest, {
      level: 'warn',
      event: 'worker-lost',
      worker: 3,
      reason: 'two\nlines',
      msg: 'worker\r\nlost',
    });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.equal(pid, process.pid);
  });

  it('hold no character that could drive the terminal of who reads them, and lose none', () => {
    const { log, lines } = record({ level: 'info' });
    const hostile = 'x\n\r\u001b[2J\u009b31m\u0007\u202e\u007f\u2028\\u0041';
    log.warn({ event: 'ready', value: hostile, [hostile]: [hostile] }, hostile);
    const [line = ''] = lines;
    assert.doesNotMatch(line.trimEnd(), /[\p{Cc}\u202e\u2028]/u);
    const read = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual([read.msg, read.value, read[hostile]], [hostile, hostile, [hostile]]);
  });

  it('never hold params or secrets', () => {
    const { log, lines } = record({ level: 'info' });
    const secret = 'hunter2';
    const error = Object.assign(new Error('boom'), { params: { secret } });
    log.info(
      { event: 'ready', params: { secret }, headers: { authorization: secret }, auth: secret },
      'one',
    );
    log.error(
      { event: 'call-failed', err: error, request: { cookie: secret, token: secret } },
      'two',
    );
    assert.equal(lines.length, 2);
    assert.doesNotMatch(lines.join(''), /hunter2/);
  });
});

describe('pretty lines', () => {
  function pretty(): { log: Log; lines: string[] } {
    return record({ level: 'info', pretty: true });
  }
  // Its colours are control characters too.
  process.env.NO_COLOR = '1';

  it('read as time, level, message and name=value', () => {
    const { log, lines } = pretty();
    log.info({ event: 'ready', url: 'http://127.0.0.1:8000/rpc', workers: 3, why: 'a b' }, 'ready');
    assert.match(
      lines.join(''),
      /^\[[\d:.]+\] INFO: ready url=http:\/\/127\.0\.0\.1:8000\/rpc workers=3 why="a b"\n$/,
    );
  });

  it('escape what could forge a line or drive the terminal', () => {
    const { log, lines } = pretty();
    const hostile = 'x\n[00:00:00.000] INFO: forged\r\u001b[2J\u009b31m\u0007\u202e\u007f';
    log.warn({ event: 'ready', value: hostile, [hostile]: [hostile] }, hostile);
    const text = lines.join('');
    assert.equal(text.split('\n').length, 2, text);
    assert.doesNotMatch(text.trimEnd(), /[\p{Cc}\u202e]/u);
    assert.match(text, /\\u001b\[2J/);
  });

  it('show a stack, indented below its line', () => {
    const { log, lines } = pretty();
    log.error(
      {
        event: 'call-failed',
        ref: 'abc',
        detail: 'Error: boom\u001b[2J\n    at add (file.ts:1:2)',
      },
      'failed',
    );
    assert.match(
      lines.join(''),
      /ERROR: failed ref=abc\n {4}Error: boom\\u001b\[2J\n {8}at add \(file\.ts:1:2\)\n$/,
    );
  });
});

describe('many lines of one event', () => {
  const flood = 1000;

  /** Resolves when the lines that were not written have been counted. */
  async function untilCounted(lines: readonly string[], from: number): Promise<void> {
    while (!lines.slice(from).some((line) => line.includes('"log-limited"')))
      await new Promise((resolve) => setTimeout(resolve, 10));
  }

  it('are ten and a count for each name, and what is not written is not formatted', async () => {
    const { log, lines } = record({ level: 'info' });
    let formatted = 0;
    const detail = (): string => `stack ${++formatted}`;
    for (let i = 0; i < flood; i++)
      log.error({ event: 'call-failed', method: 'a', detail }, 'a procedure failed');
    log.error({ event: 'call-failed', method: 'b', detail }, 'a procedure failed');
    log.warn({ event: 'worker-lost', reason: 'memory' }, 'a worker was lost');
    await untilCounted(lines, 0);
    const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const whole = read.filter(({ event, method }) => event === 'call-failed' && method === 'a');
    const counts = read.filter(({ event }) => event === 'log-limited');
    const counted = counts.reduce((sum, { count }) => sum + Number(count), 0);
    assert.equal(whole.length + counted, flood);
    assert.ok(whole.length <= 10 * (counts.length + 1), `${whole.length} whole`);
    assert.equal(formatted, whole.length + 1);
    assert.ok(counts.every(({ limited, method }) => limited === 'call-failed' && method === 'a'));
    assert.ok(read.some(({ method }) => method === 'b'));
    assert.ok(read.some(({ event }) => event === 'worker-lost'));
  });

  it('take no more than maxBytesPerSecond together, and an event that is rare keeps its line', async () => {
    const { log, lines } = record({ level: 'info', maxBytesPerSecond: 10_000 });
    for (let i = 0; i < flood; i++)
      log.error({ event: 'call-failed', method: `m${i}`, detail: 'x'.repeat(500) }, 'failed');
    const within = lines.length;
    log.error({ event: 'worker-lost', reason: 'memory' }, 'a worker was lost');
    assert.match(lines[within] ?? '', /worker-lost/);
    await untilCounted(lines, within);
    const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const whole = read.filter(({ event }) => event === 'call-failed').length;
    const counted = read.reduce(
      (sum, { event, count }) => (event === 'log-limited' ? sum + Number(count) : sum),
      0,
    );
    assert.equal(whole + counted, flood);
    assert.ok(whole < 100, `${whole} whole`);
  });
});
