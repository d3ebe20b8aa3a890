import { Command, CommanderError } from 'commander';
import { ownVersion } from '../core/base/package-files.ts';
import { fail, onOutputLost, printFailure } from './exit.ts';
import { addGateway, addMcp, addServe } from './serve-commands.ts';
import {
  addCall,
  addCodegen,
  addCompletion,
  addDiff,
  addInit,
  addList,
  addSchema,
  addTop,
} from './tools/commands.ts';

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

/** @param command the name of the command that is run */
function createProgram(command: string): Command {
  const version = ownVersion();
  const program = new Command('tandem')
    .description('JSON-RPC 2.0 service: heavy procedures run in worker threads, light ones inline.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', footer)
    .configureOutput({
      outputError: (text) => {
        const line = text.trim().replace(/^error: /, '');
        // Commander only says what is missing.
        const help = line.startsWith('missing ') ? `: see tandem ${command} --help` : '';
        printFailure(`${line}${help}`);
      },
    })
    .exitOverride();
  addServe(program, version);
  addGateway(program, version);
  addMcp(program);
  addCodegen(program);
  addDiff(program);
  addSchema(program);
  addCall(program);
  addList(program);
  addTop(program);
  addInit(program, version);
  addCompletion(program);
  return program;
}

/** Commands that go on without their output. */
const servers: ReadonlySet<string | undefined> = new Set(['serve', 'gateway', 'mcp']);

/** Runs one command line. Sets `process.exitCode` instead of exiting, so that a server goes on. */
export async function runCli(argv: readonly string[]): Promise<void> {
  // `tandem serve x | head -1` closes stdout. That must not end the server.
  process.stdout.on('error', servers.has(argv[2]) ? () => {} : onOutputLost);
  process.stderr.on('error', () => {});
  const [, , command = '', name] = argv;
  const program = createProgram(command);
  // For `help` and an unknown command, Commander prints all of its help. Without `help`, the name is a mistake as any other.
  const isHelpOfNone =
    command === 'help' &&
    name !== undefined &&
    !program.commands.some((one) => one.name() === name);
  try {
    if (argv.length <= 2) program.outputHelp();
    else await program.parseAsync(isHelpOfNone ? argv.toSpliced(2, 1) : argv);
  } catch (error) {
    // Commander has printed its line already.
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else fail(error);
  }
}
