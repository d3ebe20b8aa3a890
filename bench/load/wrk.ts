import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootPath } from '../root.ts';
import type { Goal, LoadResult } from './request.ts';

/** The version that wrk reports; undefined where it is not installed. */
export function wrkVersion(): string | undefined {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  return error === undefined ? /^wrk (\S+)/.exec(stdout)?.[1] : undefined;
}

interface WrkSummary {
  readonly responses: number;
  readonly us: number;
  readonly bytes: number;
  readonly wrong: number;
  readonly errors: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** Load by wrk, with one thread: that is always faster than the server, and every further core would be the server's. */
export class Wrk {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tandem-rpc-bench-'));

  /** @param check compare every reply; that slows wrk down, so only the warm-up does it */
  async run(goal: Goal, connections: number, seconds: number, check: boolean): Promise<LoadResult> {
    const data = join(this.#folder, 'exchanges');
    writeFileSync(data, goal.exchanges.map(({ body, reply }) => `${body}\n${reply}\n`).join(''));
    const summary = await this.#spawn(goal, connections, seconds, [data, check ? 'check' : '']);
    assertRight(summary, goal, connections);
    return {
      tool: 'wrk',
      responses: summary.responses,
      perSecond: summary.responses / (summary.us / 1e6),
      p50: summary.p50 / 1000,
      p99: summary.p99 / 1000,
      p999: summary.p999 / 1000,
    };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #spawn(
    { port, path }: Goal,
    connections: number,
    seconds: number,
    args: readonly string[],
  ): Promise<WrkSummary> {
    const script = rootPath('bench/load/wrk.lua');
    const url = `http://127.0.0.1:${port}${path}`;
    const wrk = spawn(
      'wrk',
      ['-t1', `-c${connections}`, '-d600s', '-s', script, url, '--', ...args],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let output = '';
    wrk.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = new Promise<void>((resolve, reject) => {
      wrk.on('close', () => resolve());
      wrk.on('error', reject);
    });
    // wrk's own duration is in whole seconds. When it is interrupted, it reports the time that passed.
    await Promise.race([sleep(seconds * 1000), ended]);
    wrk.kill('SIGINT');
    await ended;
    const summary = /^\{"responses".*\}$/m.exec(output)?.[0];
    if (summary === undefined) throw new Error(`wrk failed: ${output}`);
    return JSON.parse(summary) as WrkSummary;
  }
}

/** Checks the count of bytes and the statuses. The warm-up has compared the replies themselves. */
function assertRight(summary: WrkSummary, goal: Goal, connections: number): void {
  const { responses, bytes, wrong, errors } = summary;
  if (wrong + errors > 0) throw new Error(`wrk: ${wrong} wrong answers, ${errors} errors`);
  const excess = bytes - responses * goal.responseBytes;
  // Up to one response for each connection was read but not yet counted when time was up.
  if (responses === 0 || excess < 0 || excess > connections * goal.responseBytes) {
    throw new Error(`wrk: ${responses} answers in ${bytes} bytes, of ${goal.responseBytes} each`);
  }
}
