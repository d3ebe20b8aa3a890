import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fixture, type Running, startCli, urlOf } from './process.ts';

interface Line {
  readonly event: string;
  readonly method?: string;
  readonly limited?: string;
  readonly count?: number;
  readonly detail?: string;
}

async function serveFailing(
  t: { after(act: () => unknown): void },
  ...args: string[]
): Promise<{ readonly server: Running; readonly url: string }> {
  const server = startCli(['serve', fixture('cli/failing.ts'), '--port', '0', ...args]);
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.exit;
  });
  return { server, url: await urlOf(server) };
}

/** Batches of calls, one batch after another. */
async function callTimes(url: string, method: string, times: number): Promise<void> {
  for (let left = times; left > 0; left -= 100) {
    const batch = Array.from({ length: Math.min(left, 100) }, (_, id) => {
      return { jsonrpc: '2.0', method, id };
    });
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch),
    });
    assert.equal(response.status, 200);
    await response.text();
  }
}

function linesOf({ stderr }: Running): Line[] {
  const whole = stderr.slice(0, stderr.lastIndexOf('\n'));
  return whole.split('\n').map((line) => JSON.parse(line) as Line);
}

/** Lines of the failures of a method that were written whole, how often further ones were counted, and how many those were. */
function toldOf(server: Running, method: string): { whole: number; told: number; counted: number } {
  const lines = linesOf(server).filter((line) => line.method === method);
  const counts = lines.filter(({ event }) => event === 'log-limited');
  return {
    whole: lines.filter(({ event }) => event === 'call-failed').length,
    told: counts.length,
    counted: counts.reduce((sum, { count = 0 }) => sum + count, 0),
  };
}

describe('a flood of log lines', () => {
  for (const method of ['fails.inline', 'fails.worker']) {
    test(`${method}: ten stacks a second, and every other failure is counted`, async (t) => {
      const { server, url } = await serveFailing(t);
      await callTimes(url, method, 3000);
      for (;;) {
        const { whole, told, counted } = toldOf(server, method);
        assert.ok(whole + counted <= 3000, `${whole} whole, ${counted} counted`);
        if (whole + counted === 3000) {
          // The limiter of a worker and that of the main thread each have seconds of their own.
          assert.ok(whole <= 20 * (told + 1), `${whole} whole in ${told} seconds`);
          return;
        }
        await once(server.child, 'output');
      }
    });
  }

  test('1 MB a second bounds the lines of context.log, and says how many are missing', async (t) => {
    const { server, url } = await serveFailing(t);
    await callTimes(url, 'speaks', 1);
    await server.seen('stderr', /"event":"log-limited"/);
    const lines = linesOf(server);
    const spoken = lines.filter(({ event }) => event === 'procedure-log').length;
    const counts = lines.filter(({ event }) => event === 'log-limited');
    const counted = counts.reduce((sum, { count = 0 }) => sum + count, 0);
    // One event may take half of it.
    assert.ok(spoken >= 1 && spoken <= 128 * (counts.length + 1), `${spoken} lines of 4 KB`);
    assert.ok(spoken + counted <= 500, `${spoken} written, ${counted} counted`);
  });
});
