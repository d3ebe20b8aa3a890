import { createRequire } from 'node:module';
import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import { type OptionName, optionsFromFlags, resolveConfig } from '../core/config/config.ts';
import { onOutputLost, printAndExit } from './ending.ts';
import { fail, printFailure } from './failure.ts';
import { addMcp } from './mcp/mcp-command.ts';
import { addConfigOptions, formatItem, givenFlags } from './options.ts';
import { addGateway, addServe } from './serve-command.ts';
import { addRemoteOptions, parseDuration, remoteOptions } from './tools/client-options.ts';
import { type Shell, shells } from './tools/completion.ts';
import { addContractCommands } from './tools/contract-commands.ts';

// Asks for package.json by the package's own name: the path to it differs between src/ and dist/.
const { version } = createRequire(import.meta.url)('tandem-rpc/package.json') as {
  version: string;
};

const footer = `
Examples:
  tandem serve ./procedures.ts
  tandem serve ./procedures.mjs --port 9000 --workers 4
  TANDEM_LOG_LEVEL=warn tandem serve ./a.js ./b.js --timeout 10s --max-body 1mb
  tandem mcp ./procedures.ts
  tandem init my-service
  tandem list http://127.0.0.1:8000/rpc
  tandem call http://127.0.0.1:8000/rpc math.add '{"a":1,"b":2}'
  tandem codegen ./procedures.ts --out src/api.ts
  tandem diff ./released.json ./procedures.ts
  tandem top http://127.0.0.1:8000

Exit codes:
  0    done; stopped by SIGINT or SIGTERM after draining
  1    a mistake, told in one line on stderr (TANDEM_DEBUG=1 adds the stack), or a crash; an error reply
       to a call; a file that codegen --check finds out of date; a contract that diff finds broken
  2    a mistake of tandem diff
  130  a second SIGINT while draining; 143: a second SIGTERM; 129: a second hang-up

SIGHUP reloads the modules, unless the server was started from a terminal: then it stops it. SIGUSR2
replaces the server processes by new ones, one after another.
`;

/** One line of Commander's; where it only says what is missing, with the place that says more. */
function told(text: string, command: string): string {
  const line = text.trim().replace(/^error: /, '');
  return line.startsWith('missing ') ? `${line}: see tandem ${command} --help` : line;
}

/** @param command the name of the command that is run */
function createProgram(command: string): Command {
  const program = new Command('tandem')
    .description('JSON-RPC 2.0 service: heavy procedures run in worker threads, light ones inline.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', footer)
    .configureOutput({ outputError: (text) => printFailure(told(text, command)) })
    .exitOverride();
  addServe(program, version);
  addGateway(program, version);
  addMcp(program);
  addContractCommands(program);
  addTop(program);
  addProjectCommands(program, version);
  return program;
}

/**
 * Whether help is asked of a command that there is not. Commander prints all of its help then; without the word `help` the name
 * is a mistake as any other.
 */
function isHelpOfNone(
  [_node, _script, command, name]: readonly string[],
  program: Command,
): boolean {
  return (
    command === 'help' && name !== undefined && !program.commands.some((one) => one.name() === name)
  );
}

/** Commands that go on without their output. */
const servers: ReadonlySet<string | undefined> = new Set(['serve', 'gateway', 'mcp']);

/** Runs one command line. Sets `process.exitCode` instead of exiting, so that a server goes on. */
export async function runCli(argv: readonly string[]): Promise<void> {
  // `tandem serve x | head -1` closes stdout. That must not end the server.
  process.stdout.on('error', servers.has(argv[2]) ? () => {} : onOutputLost);
  process.stderr.on('error', () => {});
  const program = createProgram(argv[2] ?? '');
  try {
    if (argv.length <= 2) program.outputHelp();
    else await program.parseAsync(isHelpOfNone(argv, program) ? argv.toSpliced(2, 1) : argv);
  } catch (error) {
    // Commander has printed its line already.
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else fail(error);
  }
}

const initExamples = `
Examples:
  tandem init my-service
  tandem init            # into this folder
`;

const completionExamples = `
Examples:
  source <(tandem completion bash)                  # in ~/.bashrc
  source <(tandem completion zsh)                   # in ~/.zshrc, after compinit
  tandem completion fish > ~/.config/fish/completions/tandem.fish
`;

/** `tandem init` and `tandem completion` */
function addProjectCommands(program: Command, version: string): void {
  program
    .command('init')
    .summary('write a new project')
    .description(
      'Writes a project: procedures, a typed client, a test, scripts. Needs no network, and overwrites nothing.',
    )
    .argument('[dir]', 'the folder, made where it does not exist', '.')
    .addHelpText('after', initExamples)
    .action(async (folder: string) => {
      const { init } = await import('./tools/init.ts');
      await init(folder, version);
    });
  program
    .command('completion')
    .summary('print a script for shell completion')
    .description('Prints a script that completes commands, options and the procedures of a server.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', completionExamples)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./tools/completion.ts');
      await printAndExit(completionScript(program, shell));
    });
}

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
function addTop(program: Command): void {
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
      const { topOfCluster } = await import('./tools/top/cluster.ts');
      await topOfCluster({ once, intervalMs: interval, config });
      return;
    }
    const { top } = await import('./tools/top/top.ts');
    await top(url, { ...remoteOptions(command), once, intervalMs: interval });
  });
}
