import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import type { HeapFile } from '../../core/service/heap-snapshots.ts';
import { codeOf } from '../../server/http/edge/http-server.ts';
import type { Answer, Order, Stacks } from '../../server/supervisor/admin/orders.ts';
import { printAndExit } from '../exit.ts';

/** The socket of a running service: the option adminSocket. */
export type SocketPath = string;

/** `tandem stack` */
export async function stack(path: SocketPath, asJson: boolean): Promise<void> {
  const answers = await ask(path, { order: 'stack' });
  await print(answers, asJson, (answer) => stackText(answer as Stacks));
}

/** `tandem recycle` */
export async function recycle(path: SocketPath, asJson: boolean): Promise<void> {
  const answers = await ask(path, { order: 'recycle' });
  await print(answers, asJson, (answer) => {
    const { workers } = answer as { readonly workers: number };
    return [`${workers} workers are being replaced, one after another`];
  });
}

type HeapOrder = Extract<Order, { readonly order: 'heap' }>;

/** `tandem heap` */
export async function heap(
  path: SocketPath,
  order: Omit<HeapOrder, 'order'>,
  asJson: boolean,
): Promise<void> {
  const answers = await ask(path, { order: 'heap', ...order });
  await print(answers, asJson, (answer) => {
    const { path: file, bytes, worker, group } = answer as HeapFile;
    const who = group === undefined ? '' : ` of group ${group}`;
    return [`${file}: ${Math.round(bytes / 1024 ** 2)} MB, the heap of worker ${worker}${who}`];
  });
}

type LevelOrder = Extract<Order, { readonly order: 'log-level' }>;

/** `tandem log-level` */
export async function logLevel(
  path: SocketPath,
  { level, forMs }: Omit<LevelOrder, 'order'>,
  asJson: boolean,
): Promise<void> {
  const answers = await ask(path, { order: 'log-level', level, forMs });
  await print(answers, asJson, () => [`log level ${level}, for ${Math.round(forMs / 1000)} s`]);
}

/** Prints what each process has answered. The exit code is 1 if one of them could not. */
async function print(
  answers: readonly Answer[],
  asJson: boolean,
  textOf: (answer: unknown) => string[],
): Promise<void> {
  const failed = answers.some(({ error }) => error !== undefined);
  const text = asJson
    ? JSON.stringify(answers, undefined, 2)
    : answers
        .flatMap(({ process, pid, answer, error }) => {
          const lines = error === undefined ? textOf(answer) : [`failed: ${error}`];
          return [`process ${process} (pid ${pid})`, ...lines.map((line) => `  ${line}`)];
        })
        .map(escapeControls)
        .join('\n');
  await printAndExit(`${text}\n`, failed ? 1 : 0);
}

function stackText({ main, workers }: Stacks): string[] {
  const indented = (stack: string): string[] => stack.split('\n').map((frame) => `  ${frame}`);
  return [
    'main thread',
    ...indented(main),
    ...workers.flatMap(({ worker, threadId, group, running, inFlight, stack: frames }) => {
      const facts = [
        `worker ${worker}`,
        ...(group === undefined ? [] : [`group ${group}`]),
        `thread ${threadId}`,
        ...(running === undefined ? [] : [`${running.procedure} for ${running.ms} ms`]),
        `${inFlight} in flight`,
      ];
      return [facts.join(', '), ...indented(frames)];
    }),
  ];
}

const advice: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `no service listens at ${path}: start one with --admin-socket ${path}`,
  ECONNREFUSED: (path) => `no service listens at ${path} any more: start it again`,
  EACCES: (path) =>
    `not permitted to connect to ${path}: only the user that the service runs as is`,
};

/** @throws StartupError with one line: there is no service, or it refuses the order */
export async function ask(path: SocketPath, order: Order): Promise<Answer[]> {
  if (path === '') {
    throw new StartupError(
      'give --admin-socket PATH, or set TANDEM_ADMIN_SOCKET: the socket of the service',
    );
  }
  const socket = connect(path);
  // Its errors come to whoever reads the lines.
  const failure = new Promise<never>((_resolve, reject) => {
    socket.on('error', (error) => {
      const what = advice[codeOf(error)]?.(path) ?? `cannot connect to ${path}: ${error.message}`;
      reject(new StartupError(what, { cause: error }));
    });
  });
  failure.catch(() => {});
  socket.write(`${JSON.stringify(order)}\n`);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const answers: Answer[] = [];
  for (;;) {
    const { done, value } = await Promise.race([lines.next(), failure]);
    if (done === true) throw new StartupError(`${path}: the service ended before it had answered`);
    const read = JSON.parse(value) as Answer | { readonly error: string } | { readonly done: true };
    if ('done' in read) break;
    if (!('process' in read)) throw new StartupError(`refused: ${read.error}`);
    answers.push(read);
  }
  socket.destroy();
  return answers;
}
