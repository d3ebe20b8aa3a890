import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { stackOf } from '../../src/core/base/message-of.ts';
import { threadCpuMs } from '../../src/core/dispatch/main-thread-watch.ts';
import { type Request, type Response, readyId, type Usage } from './protocol.ts';

/** Does the work of a command. Its argument comes from another process, unchecked. */
export type Handler = (argument: never) => unknown;

let delay: IntervalHistogram | undefined;

/** Commands that every process of the benchmark answers. */
const common: Readonly<Record<string, Handler>> = {
  usage: (): Usage => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const peakRssBytes = process.resourceUsage().maxRSS * 1024;
    return {
      cpuUs: user + system,
      mainCpuUs: threadCpuMs() * 1000,
      rssBytes: rss,
      peakRssBytes,
      heapBytes: heapUsed,
    };
  },
  /** Takes garbage away; does nothing without --expose-gc. */
  collect: () => globalThis.gc?.(),
  watchDelay: () => {
    delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
  },
  /** The 99th percentile since `watchDelay`, milliseconds. */
  delayP99: () => {
    delay?.disable();
    return (delay?.percentile(99) ?? Number.NaN) / 1e6;
  },
};

/** Tells the parent that this process is ready, and answers commands until the parent disconnects. */
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
    return { id, error: stackOf(error) };
  }
}

function send(response: Response): void {
  process.send?.(response);
}
