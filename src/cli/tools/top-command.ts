import { type Command, InvalidArgumentError } from 'commander';
import { type OptionName, optionsFromFlags, resolveConfig } from '../../config/config.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';
import { addRemoteOptions, parseDuration, remoteOptions } from './client-options.ts';

const intervalMs = 2000;
const shortestMs = 250;

const examples = `
The server shows its figures at /metrics, on the port of the calls or on that of --metrics-port; the URL
may be that of either, with any path. Rates and times are those of the last interval; with --once, and
where the output is no terminal, they are totals since the start. q or Ctrl-C ends it.

With the URL of a server of NATS it shows the members of services: their states, versions and contracts, the calls that they
have, how often they have come back to NATS, and who was lost. It needs what a gateway may hear (examples/cluster/nats.conf).

Examples:
  tandem top http://127.0.0.1:8000
  tandem top 127.0.0.1:9100 --interval 500ms
  tandem top http://127.0.0.1:8000 --once
  tandem top nats://127.0.0.1:4222 --service shop
`;

/** How to log in to NATS, and whom to watch there. */
const natsNames: readonly OptionName[] = [
  'natsCreds',
  'natsNkey',
  'natsCa',
  'natsCert',
  'natsKey',
  'service',
  'memberSilentMs',
  'memberHungMs',
];

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms < shortestMs) throw new InvalidArgumentError(`Expected at least ${shortestMs}ms.`);
  return ms;
}

function isNats(url: string): boolean {
  return /^(?:nats|tls):\/\//i.test(url);
}

/** `tandem top <url>` */
export function addTop(program: Command): void {
  const command = program
    .command('top')
    .summary('watch the figures of a server, or the members of a cluster')
    .description(
      'Shows calls, times, workers and memory of a running server, from its metrics, as they change.',
    )
    .argument('<url>', 'of the server, or of a server of NATS')
    .option('--once', 'print the figures once, as text')
    .option('--interval <time>', 'how often to look (default: 2s)', parseInterval)
    .configureHelp({ formatItem })
    .addHelpText('after', examples);
  addConfigOptions(addRemoteOptions(command), natsNames).action(async (url: string) => {
    const { once = false, interval = intervalMs } = command.opts<{
      once?: true;
      interval?: number;
    }>();
    if (isNats(url)) {
      const config = resolveConfig(
        { ...optionsFromFlags(givenFlags(command)), nats: url },
        process.env,
      );
      const { topOfCluster } = await import('./top/cluster.ts');
      await topOfCluster({ once, intervalMs: interval, config });
      return;
    }
    const { top } = await import('./top/top.ts');
    await top(url, { ...remoteOptions(command), once, intervalMs: interval });
  });
}
