import type { Running } from '../../cli/process.ts';
import { logged } from './cli.ts';
import { Load, wrongAnswer } from './load.ts';

export interface ReplacementReport {
  readonly calls: number;
  readonly answered: number;
  /** Calls whose connection was reset. */
  readonly reset: number;
  /** Calls that found nobody to connect to. */
  readonly refused: number;
  readonly violations: readonly string[];
}

/** Replaces all processes of a server under load, round by round, and counts what becomes of the calls. */
export async function replacementRounds(
  server: Running,
  url: string,
  processes: number,
  rounds: number,
): Promise<ReplacementReport> {
  // Only new connections can meet a listener that closes.
  const load = new Load(url, 64, false);
  for (let round = 1; round <= rounds; round++) {
    await load.next(() => true, 100);
    server.child.kill('SIGUSR2');
    await logged(server, /has taken over/, round * processes);
  }
  await load.next(() => true, 100);
  const ended = await load.stop();
  const refused = ended.filter(({ failure }) => failure === 'ECONNREFUSED').length;
  const failed = ended.filter(({ failure }) => failure !== undefined).length;
  return {
    calls: ended.length,
    answered: ended.filter(({ result }) => result !== undefined).length,
    reset: failed - refused,
    refused,
    violations: ended.flatMap((one) => wrongAnswer(one) ?? []),
  };
}
