import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { type Command, InvalidArgumentError } from 'commander';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { type OptionName, optionsFromFlags, resolveConfig } from '../../core/config/config.ts';
import { codeOf } from '../../server/http/edge/http-server.ts';
import {
  type Answer,
  type Order,
  type OrderName,
  type OrderParam,
  orders,
  rowOf,
} from '../../server/process/orders.ts';
import { printAndExit } from '../exit.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';
import { parseDuration } from './commands.ts';

const socketNames: readonly OptionName[] = ['adminSocket'];

const parsers: Readonly<Record<OrderParam<unknown>['kind'], (text: string) => unknown>> = {
  number: toNumber,
  duration: parseDuration,
  text: (text) => text,
};

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value))
    throw new InvalidArgumentError('Expected a number.');
  return value;
}

/** The commands that give orders to a running service by its admin socket: one for each row of {@link orders}. */
export function addOrders(program: Command): void {
  for (const name of Object.keys(orders) as OrderName[]) addOrder(program, name);
}

function addOrder(program: Command, name: OrderName): void {
  const { summary, description, examples, params } = rowOf(name);
  const command = program
    .command(name)
    .summary(summary)
    .description(description)
    .configureHelp({ formatItem })
    .addHelpText('after', examples);
  /** The names of the params that are flags, by the names that Commander gives to these. */
  const flags = new Map<string, string>();
  const words: string[] = [];
  for (const [param, { flag, about, kind, choices }] of Object.entries(params)) {
    if (flag.startsWith('-')) {
      const option = command.createOption(flag, about).argParser(parsers[kind]);
      command.addOption(option);
      flags.set(option.attributeName(), param);
    } else {
      const argument = command.createArgument(flag, about);
      command.addArgument(choices === undefined ? argument : argument.choices(choices));
      words.push(param);
    }
  }
  if (name === 'profile')
    command.requiredOption('--out <folder>', 'where the .cpuprofile files are written');
  command.option('--json', 'print what each process answers as JSON');
  addConfigOptions(command, socketNames).action(async (...given: unknown[]) => {
    const { adminSocket } = resolveConfig(optionsFromFlags(givenFlags(command)), process.env);
    const { out, json, ...values } = command.opts<Readonly<Record<string, unknown>>>();
    const order: Record<string, unknown> = {};
    for (const [param, { fallback }] of Object.entries(params)) order[param] = fallback;
    for (const [flag, param] of flags) if (flag in values) order[param] = values[flag];
    for (const [i, param] of words.entries()) order[param] = given[i];
    const keep =
      typeof out === 'string' ? await (await import('./profile.ts')).keepIn(out) : undefined;
    const answers = await ask(adminSocket, { ...order, order: name });
    const kept = keep === undefined ? answers : await Promise.all(answers.map(keep));
    await print(kept, json === true, (answer) => rowOf(name).print(answer));
  });
}

/** Prints what each process has answered. The exit code is 1 if one of them could not. */
async function print(
  answers: readonly Answer[],
  asJson: boolean,
  linesOf: (answer: unknown) => string[],
): Promise<void> {
  const failed = answers.some(({ error }) => error !== undefined);
  const text = asJson
    ? JSON.stringify(answers, undefined, 2)
    : answers
        .flatMap(({ process, pid, answer, error }) => {
          const lines = error === undefined ? linesOf(answer) : [`failed: ${error}`];
          return [`process ${process} (pid ${pid})`, ...lines.map((line) => `  ${line}`)];
        })
        .map(escapeControls)
        .join('\n');
  await printAndExit(`${text}\n`, failed ? 1 : 0);
}

const advice: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `no service listens at ${path}: start one with --admin-socket ${path}`,
  ECONNREFUSED: (path) => `no service listens at ${path} any more: start it again`,
  EACCES: (path) =>
    `not permitted to connect to ${path}: only the user that the service runs as is`,
};

/**
 * @param path of the socket of a running service: the option adminSocket
 * @throws StartupError with one line: there is no service, or it refuses the order
 */
async function ask(path: string, order: Order): Promise<Answer[]> {
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
