import { Command, CommanderError } from 'commander';
import { ownVersion } from '../core/base/package-files.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { type OptionName, optionNames } from '../core/config/config.ts';
import { table } from '../core/config/table.ts';
import { fail, onOutputLost, printFailure } from './exit.ts';
import { addConfigOptions, formatItem, givenFlags } from './options.ts';
import { addOrders } from './tools/admin.ts';
import { addCall, addCodegen, addDiff, addInit, addList, addSchema } from './tools/commands.ts';

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
  tandem stack --admin-socket /run/shop/admin.sock

Exit codes:
  0    done; stopped by SIGINT or SIGTERM after draining
  1    a mistake, told in one line on stderr (TANDEM_DEBUG=1 adds the stack), or a crash; an error reply
       to a call; a file that codegen --check finds out of date; a contract that diff finds broken
  2    a mistake of tandem diff
  130  a second SIGINT while draining; 143: a second SIGTERM; 129: a second hang-up

SIGHUP reloads the modules, unless the server was started from a terminal: then it stops it. SIGUSR2
replaces the server processes by new ones, one after another.
`;

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
  const add = servers.get(command);
  // A supervisor keeps for ever what it has made of the options of other commands.
  if (add !== undefined) add(program, version);
  else {
    for (const addServer of servers.values()) addServer(program, version);
    addCodegen(program);
    addDiff(program);
    addSchema(program);
    addCall(program);
    addList(program);
    addOrders(program);
    addInit(program, version);
  }
  return program;
}

/** Commands that pages of this version's previews named, and what does their work now. */
const goneCommands: ReadonlyMap<string, string> = new Map([
  ['top', 'the console has a Live page, and /metrics has the figures'],
  ['completion', 'tandem --help lists the commands'],
  ['recycle', 'SIGUSR2 replaces the server processes, one after another'],
]);

/** Commands that go on without their output. */
const servers: ReadonlyMap<string | undefined, (program: Command, version: string) => void> =
  new Map([
    ['serve', addServe],
    ['gateway', addGateway],
    ['mcp', addMcp],
  ]);

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
    const instead = goneCommands.get(command);
    if (instead !== undefined) throw new StartupError(`tandem ${command} is gone: ${instead}`);
    if (argv.length <= 2) program.outputHelp();
    else await program.parseAsync(isHelpOfNone ? argv.toSpliced(2, 1) : argv);
  } catch (error) {
    // Commander has printed its line already.
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else fail(error);
  }
}

// The code of a command is loaded when the command runs: help and version need none of it.

const serveFooter = `
A flag wins over its environment variable. Durations take a unit (500ms, 30s, 5m), sizes too (512kb, 10mb). A
switch has both forms: --strict and --no-strict.

The modules are JavaScript or TypeScript files; each exports a Router, as default or as "router".

Examples:
  tandem serve ./procedures.ts
  tandem serve ./procedures.mjs --host 0.0.0.0 --port 9000 --cors-origin https://app.example.com
  PORT=9000 TANDEM_WORKERS=4 tandem serve ./a.js ./b.js
  tandem serve ./procedures.ts --nats nats://127.0.0.1:4222
`;

function addServe(program: Command, version: string): void {
  const command = program
    .command('serve')
    .summary('serve the procedures of modules over HTTP')
    .description('Serves the procedures of one or more modules over HTTP, merged in order.')
    .argument('<module...>', 'files that export a Router')
    .configureHelp({ formatItem })
    .addHelpText('after', serveFooter);
  addConfigOptions(command).action(async (modules: string[]) => {
    const { serve } = await import('./serve.ts');
    await serve(modules, givenFlags(command), version);
  });
}

const gatewayFooter = `
Examples:
  tandem gateway --nats nats://127.0.0.1:4222
  tandem gateway ./local.ts --nats nats://a:4222 --nats nats://b:4222 --service orders --service users
`;

function addGateway(program: Command, version: string): void {
  const command = program
    .command('gateway')
    .summary('serve over HTTP what members on other machines serve over NATS')
    .description(
      'Serves over HTTP the procedures of all members that share its NATS, and those of its own modules.',
    )
    .argument('[module...]', 'files that export a Router: their procedures run in this process')
    .configureHelp({ formatItem })
    .addHelpText('after', gatewayFooter);
  addConfigOptions(command).action(async (modules: string[]) => {
    const { serve } = await import('./serve.ts');
    await serve(modules, { natsRole: 'gateway', ...givenFlags(command) }, version);
  });
}

const mcpFooter = `
For hosts of agents that start their servers themselves. One message a line comes on stdin, and one goes out on
stdout; the log, and whatever the modules print, goes to stderr. The end of stdin ends the program.

TANDEM_MCP_AUTH (JSON) is context.auth of every call. Nobody is asked who calls: who starts the program does.

Examples:
  tandem mcp ./procedures.ts
  TANDEM_MCP_AUTH='{"sub":"me"}' tandem mcp ./a.js ./b.js --mcp-tools 'math.*' --workers 2
`;

/** Options of groups that are about HTTP, or about a service of several processes. */
const otherGroups = new Set<string>(['Network', 'Processes']);

/** Options of other groups that mean nothing here: there is one client, on streams, and no page of figures. */
const others = new Set<OptionName>([
  'bodyTimeoutMs',
  'keepAliveTimeoutMs',
  'streamPingMs',
  'maxReplyMemory',
  'maxConnections',
  'maxStreamsPerConnection',
  'maxInFlightPerCaller',
  'rateLimit',
  'mcp',
  'mcpAuthorizationServers',
  'mcpScopes',
  'httpPath',
  'httpProcedures',
  'httpAuth',
  'publicUrl',
  'strict',
  'introspection',
  'codegen',
  'metrics',
  'metricsPort',
  'tracing',
]);

const mcpOptions: readonly OptionName[] = optionNames.filter(
  (name) => !others.has(name) && !otherGroups.has(table[name].group),
);

function addMcp(program: Command): void {
  const command = program
    .command('mcp')
    .summary('offer the procedures of modules to an agent, on stdin and stdout')
    .description(
      'Offers the procedures of modules as tools by the Model Context Protocol, on stdin and stdout.',
    )
    .argument('<module...>', 'files that export a Router')
    .configureHelp({ formatItem })
    .addHelpText('after', mcpFooter);
  addConfigOptions(command, mcpOptions).action(async (modules: string[]) => {
    const { serveMcp } = await import('./serve-mcp.ts');
    await serveMcp(modules, givenFlags(command), process.env);
  });
}
