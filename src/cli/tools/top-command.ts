import { type Command, InvalidArgumentError } from 'commander';
import { addRemoteOptions, parseDuration, remoteOptions } from './client-options.ts';

const intervalMs = 2000;
const shortestMs = 250;

const examples = `
The server shows its figures at /metrics, on the port of the calls or on that of --metrics-port; the URL
may be that of either, with any path. Rates and times are those of the last interval; with --once, and
where the output is no terminal, they are totals since the start. q or Ctrl-C ends it.

Examples:
  tandem top http://127.0.0.1:8000
  tandem top 127.0.0.1:9100 --interval 500ms
  tandem top http://127.0.0.1:8000 --once
`;

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms < shortestMs) throw new InvalidArgumentError(`Expected at least ${shortestMs}ms.`);
  return ms;
}

/** `tandem top <url>` */
export function addTop(program: Command): void {
  const command = program
    .command('top')
    .summary('watch the figures of a server')
    .description(
      'Shows calls, times, workers and memory of a running server, from its metrics, as they change.',
    )
    .argument('<url>', 'of the server')
    .option('--once', 'print the figures once, as text')
    .option('--interval <time>', 'how often to look (default: 2s)', parseInterval)
    .addHelpText('after', examples);
  addRemoteOptions(command).action(async (url: string) => {
    const { once = false, interval = intervalMs } = command.opts<{
      once?: true;
      interval?: number;
    }>();
    const { top } = await import('./top/top.ts');
    await top(url, { ...remoteOptions(command), once, intervalMs: interval });
  });
}
