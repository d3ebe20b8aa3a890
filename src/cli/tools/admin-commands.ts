import { Argument, type Command } from 'commander';
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
