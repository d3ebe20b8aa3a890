import { Argument, type Command, InvalidArgumentError } from 'commander';
import { type OptionName, optionsFromFlags, resolveConfig } from '../../core/config/config.ts';
import type { LogLevel } from '../../core/observe/log.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';
import { parseDuration } from './commands.ts';

/** The commands that give orders to a running service by its admin socket. */

const socketNames: readonly OptionName[] = ['adminSocket'];

const stackExamples = `
The service must have been started with --admin-socket. Nothing is paused: no call fails, none is slower for long.

Examples:
  tandem serve ./procedures.ts --admin-socket /run/shop/admin.sock
  tandem stack --admin-socket /run/shop/admin.sock
  TANDEM_ADMIN_SOCKET=/run/shop/admin.sock tandem stack --json
`;

const levelExamples = `
Examples:
  tandem log-level debug --admin-socket /run/shop/admin.sock
  tandem log-level debug --for 2m --admin-socket /run/shop/admin.sock
`;

const recycleExamples = `
Examples:
  tandem recycle --admin-socket /run/shop/admin.sock
`;

const profileExamples = `
The main thread stands still once, for about 0.1 s. Chrome DevTools and speedscope open the files.

Examples:
  tandem profile --out profiles --admin-socket /run/shop/admin.sock
  tandem profile --seconds 30 --interval-ms 1 --out profiles --admin-socket /run/shop/admin.sock
`;

const heapExamples = `
The service must have been started with --heap-dir too. The worker with the largest heap ends its calls, writes the snapshot, and is
replaced; no call is lost. It takes about 0.1 s and 14 MB of memory for each MB of the heap. Chrome DevTools opens the file.

Examples:
  tandem serve ./procedures.ts --admin-socket /run/shop/admin.sock --heap-dir /var/lib/shop
  tandem heap --admin-socket /run/shop/admin.sock
  tandem heap --process 2 --group models --worker 1 --admin-socket /run/shop/admin.sock
`;

interface HeapFlags {
  readonly process?: number;
  readonly group?: string;
  readonly worker?: number;
}

interface ProfileFlags {
  readonly seconds?: number;
  readonly intervalMs?: number;
  readonly out: string;
}

interface Flags {
  readonly json?: true;
  readonly for?: number;
}

/** Commander gives the values that a command names, then its flags. */
function addOrder(
  command: Command,
  examples: string,
  run: (path: string, asJson: boolean, flags: Flags, value: string) => Promise<void>,
): void {
  command
    .option('--json', 'print what each process answers as JSON')
    .configureHelp({ formatItem })
    .addHelpText('after', examples);
  addConfigOptions(command, socketNames).action(async (...given: unknown[]) => {
    const flags = command.opts<Flags>();
    const { adminSocket } = resolveConfig(optionsFromFlags(givenFlags(command)), process.env);
    const [value] = given;
    await run(adminSocket, flags.json === true, flags, typeof value === 'string' ? value : '');
  });
}

export function addStack(program: Command): void {
  const command = program
    .command('stack')
    .summary('print what each thread of a service does now')
    .description('Prints the stack of each thread of a running service.');
  addOrder(command, stackExamples, async (path, asJson) => {
    const { stack } = await import('./admin.ts');
    await stack(path, asJson);
  });
}

export function addProfile(program: Command): void {
  const command = program
    .command('profile')
    .summary('see where the threads of a service spend their CPU time')
    .description(
      'Takes a CPU profile of each thread of a running service: a .cpuprofile for each, and tables of procedures and functions.',
    )
    .requiredOption('--out <folder>', 'where the .cpuprofile files are written')
    .option('--seconds <number>', 'how long, at most 60 (default: 10)', toNumber)
    .option('--interval-ms <number>', 'between two samples, 1 to 1000 (default: 10)', toNumber);
  addOrder(command, profileExamples, async (path, asJson) => {
    const { seconds = 10, intervalMs = 10, out } = command.opts<ProfileFlags>();
    const { profile } = await import('./profile.ts');
    await profile(path, { seconds, intervalMs }, out, asJson);
  });
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value))
    throw new InvalidArgumentError('Expected a number.');
  return value;
}

export function addLogLevel(program: Command): void {
  const command = program
    .command('log-level')
    .summary('change the log level of a service for a while')
    .description('Changes the log level of a running service. It goes back by itself.')
    .addArgument(
      new Argument('<level>', 'from which level on lines are written').choices([
        'silent',
        'error',
        'warn',
        'info',
        'debug',
      ]),
    )
    .option('--for <time>', 'until it goes back, 1s to 24h (default: 15m)', parseDuration);
  addOrder(command, levelExamples, async (path, asJson, { for: forMs = 900_000 }, level) => {
    const { logLevel } = await import('./admin.ts');
    // One of the choices.
    await logLevel(path, { level: level as LogLevel, forMs }, asJson);
  });
}

export function addRecycle(program: Command): void {
  const command = program
    .command('recycle')
    .summary('replace the workers of a service by fresh ones')
    .description(
      'Replaces each worker of a running service, one after another, after its calls. No call is lost.',
    );
  addOrder(command, recycleExamples, async (path, asJson) => {
    const { recycle } = await import('./admin.ts');
    await recycle(path, asJson);
  });
}

export function addHeap(program: Command): void {
  const command = program
    .command('heap')
    .summary('write a snapshot of the heap of a worker')
    .description(
      'Has one worker of a running service write a snapshot of its heap, into the folder of the option --heap-dir of the service.',
    )
    .option('--process <number>', 'which process of the service (default: 1)', toNumber)
    .option('--group <name>', 'a worker of this group')
    .option('--worker <number>', 'which worker, as in the metrics and in tandem stack', toNumber);
  addOrder(command, heapExamples, async (path, asJson) => {
    const { process = 1, group, worker } = command.opts<HeapFlags>();
    const { heap } = await import('./admin.ts');
    await heap(path, { process, group, worker }, asJson);
  });
}
