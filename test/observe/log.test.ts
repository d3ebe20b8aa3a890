import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog, type Log, type LogLevel, type LogOptions } from '../../src/observe/log.ts';

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
