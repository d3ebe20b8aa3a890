import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { type Request, type Response, readyId, type Usage } from './protocol.ts';

/** A command's work: takes the argument as it came over the border. */
export type Handler = (argument: never) => unknown;

let delay: IntervalHistogram | undefined;

/** What every process of the benchmark answers. */
const common: Readonly<Record<string, Handler>> = {
  usage: (): Usage => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const peakRssBytes = process.resourceUsage().maxRSS * 1024;
    return { cpuUs: user + system, rssBytes: rss, peakRssBytes, heapBytes: heapUsed };
  },
  watchDelay: () => {
    delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
  },
  /** Milliseconds. */
  delayP99: () => {
    delay?.disable();
    return (delay?.percentile(99) ?? Number.NaN) / 1e6;
  },
};

/** Says that this process is ready, and answers commands until its parent lets go of it. */
export function expose(ready: unknown, handlers: Readonly<Record<string, Handler>> = {}): void {
  const all = { ...common, ...handlers };
  process.on('message', (message) => {
    void answer(all, message as Request).then(send);
  });
  process.on('disconnect', () => process.exit());
  send({ id: readyId, value: ready });
}

async function answer(
  handlers: Readonly<Record<string, Handler>>,
  { id, command, argument }: Request,
): Promise<Response> {
  try {
    const handler = handlers[command];
    if (handler === undefined) throw new Error(`no command ${command}`);
    return { id, value: await handler(argument as never) };
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function send(response: Response): void {
  process.send?.(response);
}
