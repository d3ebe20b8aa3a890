import { Argument, type Command, CommanderError, InvalidArgumentError } from 'commander';
import { StartupError } from '../../core/base/startup-error.ts';
import { type OptionName, optionsFromFlags, resolveConfig } from '../../core/config/config.ts';
import { duration } from '../../core/config/kinds.ts';
import { printAndExit } from '../exit.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';
import { type Shell, shells } from './completion.ts';
import type { RemoteOptions } from './remote.ts';

const milliseconds = duration(1);

/** Milliseconds of `500ms`, `30s`, `5m`, or of a plain number of milliseconds. */
export function parseDuration(text: string): number {
  const value = milliseconds.check(milliseconds.fromText(text));
  if (value === undefined)
    throw new InvalidArgumentError('Expected a time such as 500ms, 30s or 5m.');
  return value;
}

type Headers = Readonly<Record<string, string>>;

function parseHeader(text: string, before: Headers = {}): Headers {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined || /[\r\n\0]/.test(value)) {
    throw new InvalidArgumentError("Expected 'name: value'.");
  }
  // fetch would throw a TypeError that names neither the option nor the header.
  if (/[^\0-\xff]/.test(value)) {
    throw new InvalidArgumentError(`The value of ${name} holds a character that no header can.`);
  }
  return { ...before, [name.toLowerCase()]: value };
}

/** The options of every command that asks a server. */
function addRemoteOptions(command: Command): Command {
  return command
    .option(
      '-H, --header <header>',
      "a header to send, 'name: value'; may be repeated",
      parseHeader,
    )
    .option('-t, --timeout <time>', 'how long to wait, such as 500ms or 30s', parseDuration);
}

interface RemoteFlags {
  readonly header?: Headers;
  readonly timeout?: number;
}

function remoteOptions({ header = {}, timeout }: RemoteFlags): RemoteOptions {
  return { headers: header, timeoutMs: timeout };
}

const sources = `
A source is the URL of a server (http://127.0.0.1:8000/rpc), a document (a .json file, or -
for stdin; OpenRPC, introspection, or the OpenAPI document of a service), or a module that exports
a Router (./procedures.ts).
`;

const codegenExamples = `${sources}
Examples:
  tandem codegen ./procedures.ts --out src/api.ts
  tandem codegen http://127.0.0.1:8000/rpc --out src/api.ts --watch
  tandem codegen ./procedures.ts --out src/api.ts --check     # in CI: exit code 1 and a diff
  tandem codegen ./openrpc.json > api.ts
`;

const schemaExamples = `
Examples:
  tandem schema ./procedures.ts
  tandem schema http://127.0.0.1:8000/rpc --openrpc > openrpc.json
  tandem schema ./procedures.ts --openapi --public-url https://api.example.org > openapi.json
`;

/** Options of a service that its OpenAPI document shows. */
const openApiOptions: readonly OptionName[] = [
  'httpPath',
  'httpProcedures',
  'httpName',
  'httpAuth',
  'publicUrl',
];

const callExamples = `
One JSON object or array is all the params. Anything else are positional ones, each JSON or a
bare string; - reads the params from stdin, and behind -- nothing is an option. The result is JSON
on stdout, indented on a terminal.
An error is told on stderr with its code, message and data, and the exit code is 1.

Examples:
  tandem call http://127.0.0.1:8000/rpc math.add '{"a":1,"b":2}'
  tandem call http://127.0.0.1:8000/rpc math.add 1 2
  tandem call http://127.0.0.1:8000/rpc text.count hello --timeout 5s
  echo '{"a":1,"b":2}' | tandem call http://127.0.0.1:8000/rpc math.add -
  tandem call http://127.0.0.1:8000/rpc log.write '["done"]' --notify -H 'authorization: Bearer x'
`;

const listExamples = `${sources}
Examples:
  tandem list http://127.0.0.1:8000/rpc
  tandem list ./procedures.ts --names
`;

const diffExamples = `${sources}
Params may take more and results may hold less; a procedure may be added. Whatever else differs is listed, each
with its path. What the comparison can't tell (another pattern, say) counts too, unless --allow-unknown is given.
Exit codes: 0 compatible, 1 not, 2 a mistake.

Examples:
  tandem diff ./openrpc.json ./procedures.ts                  # in CI: the released contract, and this one
  tandem diff https://api.example.org/rpc ./procedures.ts --json
`;

const topExamples = `
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

const initExamples = `
Examples:
  tandem init my-service
  tandem init            # into this folder
  tandem init --add      # to the project in this folder: a dependency, two scripts, a module
  tandem init --add --module src/rpc.mts
`;

const completionExamples = `
Examples:
  source <(tandem completion bash)                  # in ~/.bashrc
  source <(tandem completion zsh)                   # in ~/.zshrc, after compinit
  tandem completion fish > ~/.config/fish/completions/tandem.fish
`;

// The code of a command is loaded when the command runs: help and version need none of it.

export function addCodegen(program: Command): void {
  const command = program
    .command('codegen')
    .summary('generate the TypeScript contract of a service')
    .description('Generates one TypeScript file: the Contract type of a service, for createClient.')
    .argument('<source>', 'a URL, a document or a module')
    .option('-o, --out <file>', 'the file to write; without it the text is printed')
    .option('--check', 'write nothing; exit with 1 and a diff where the file is not current')
    .option('--watch', 'keep the file current until stopped')
    .option(
      '--interval <time>',
      'with --watch and a URL: how often to ask (default: 1s)',
      parseDuration,
    )
    .addHelpText('after', codegenExamples);
  interface Flags extends RemoteFlags {
    readonly out?: string;
    readonly check?: true;
    readonly watch?: true;
    readonly interval?: number;
  }
  addRemoteOptions(command).action(async (source: string, flags: Flags) => {
    const { out, check = false, watch = false, interval = 1000 } = flags;
    const { codegen } = await import('./codegen.ts');
    const options = { ...remoteOptions(flags), out, check, watch, intervalMs: interval };
    await codegen(source, options);
  });
}

export function addDiff(program: Command): void {
  const command = program
    .command('diff')
    .summary('tell whether a new contract breaks callers of the old one')
    .description(
      'Compares two contracts: what callers of the old one would find broken in the new one.',
    )
    .argument('<old>', 'a URL, a document or a module')
    .argument('<new>', 'a URL, a document or a module')
    .option('--json', 'the list as JSON')
    .option('--allow-unknown', "exit with 0 where the only differences are ones that can't be told")
    .addHelpText('after', diffExamples)
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : 2, code, message);
    });
  type Flags = RemoteFlags & { readonly json?: true; readonly allowUnknown?: true };
  addRemoteOptions(command).action(async (before: string, after: string, flags: Flags) => {
    const { json = false, allowUnknown = false } = flags;
    const { diff } = await import('./diff.ts');
    await diff(before, after, { ...remoteOptions(flags), json, allowUnknown });
  });
}

export function addSchema(program: Command): void {
  const command = program
    .command('schema')
    .summary('print the document of a service')
    .description(
      'Prints the introspection document of a module or a server, or the OpenRPC or OpenAPI one.',
    )
    .argument('<source>', 'a module or a URL')
    .option('--openrpc', 'the OpenRPC 1.4 document')
    .option('--openapi', 'the OpenAPI 3.1 document; the options below are about that of a module')
    .configureHelp({ formatItem })
    .addHelpText('after', schemaExamples);
  type Flags = RemoteFlags & { readonly openrpc?: true; readonly openapi?: true };
  addRemoteOptions(command);
  addConfigOptions(command, openApiOptions).action(async (source: string, flags: Flags) => {
    const { openrpc = false, openapi = false } = flags;
    const { schema } = await import('./describe.ts');
    await schema(source, { ...remoteOptions(flags), openrpc, openapi, http: givenFlags(command) });
  });
}

export function addCall(program: Command): void {
  const command = program
    .command('call')
    .summary('call a procedure')
    .description('Calls one procedure of a JSON-RPC 2.0 server over HTTP, or over WebSocket.')
    .argument('<url>', 'of the JSON-RPC path: http, https, ws or wss')
    .argument('<method>', "the procedure's full name")
    .argument('[params...]', 'JSON, bare strings, or - for stdin')
    .option('-n, --notify', 'send it as a notification: nothing comes back')
    .option(
      '--sse',
      'read a stream over http: each value is a line, then the result; Ctrl+C ends it',
    )
    .addHelpText('after', callExamples);
  type Flags = RemoteFlags & { readonly notify?: true; readonly sse?: true };
  addRemoteOptions(command).action(
    async (url: string, method: string, params: string[], flags: Flags) => {
      const { notify = false, sse = false } = flags;
      const { call } = await import('./call.ts');
      await call(url, method, params, { ...remoteOptions(flags), notify, sse });
    },
  );
}

export function addList(program: Command): void {
  const command = program
    .command('list')
    .summary('list the procedures of a service with their types')
    .description('Lists the procedures of a service with their types.')
    .argument('<source>', 'a URL, a document or a module')
    .option('--names', 'the names alone, one a line')
    .addHelpText('after', listExamples);
  type Flags = RemoteFlags & { readonly names?: true };
  addRemoteOptions(command).action(async (source: string, flags: Flags) => {
    const { list } = await import('./describe.ts');
    await list(source, remoteOptions(flags), flags.names === true);
  });
}

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

function parseTopInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms < 250) throw new InvalidArgumentError('Expected at least 250ms.');
  return ms;
}

export function addTop(program: Command): void {
  const command = program
    .command('top')
    .summary('watch the figures of a server, or the members of a cluster')
    .description(
      'Shows calls, times, workers and memory of a running server, from its metrics, as they change.',
    )
    .argument('<url>', 'of the server, or of a server of NATS')
    .option('--once', 'print the figures once, as text')
    .option('--interval <time>', 'how often to look (default: 2s)', parseTopInterval)
    .configureHelp({ formatItem })
    .addHelpText('after', topExamples);
  type Flags = RemoteFlags & { readonly once?: true; readonly interval?: number };
  addConfigOptions(addRemoteOptions(command), natsNames).action(
    async (url: string, flags: Flags) => {
      const { once = false, interval: intervalMs = 2000 } = flags;
      if (/^(?:nats|tls):\/\//i.test(url)) {
        const given = { ...optionsFromFlags(givenFlags(command)), nats: url };
        const { topOfCluster } = await import('./top/cluster.ts');
        await topOfCluster(resolveConfig(given, process.env), { once, intervalMs });
      }
      const { topOfServer } = await import('./top/server.ts');
      await topOfServer(url, remoteOptions(flags), { once, intervalMs });
    },
  );
}

export function addInit(program: Command, version: string): void {
  program
    .command('init')
    .summary('write a new project')
    .description(
      'Writes a project: procedures, a typed client, a test, scripts. Needs no network, and overwrites nothing.',
    )
    .argument('[dir]', 'the folder, made where it does not exist', '.')
    .option(
      '--add',
      'add a dependency, two scripts and a module to the project that is there; change nothing else',
    )
    .option('--module <file>', 'with --add: the module to write (default: procedures, in src)')
    .addHelpText('after', initExamples)
    .action(async (folder: string, flags: { readonly add?: true; readonly module?: string }) => {
      if (flags.add) {
        const { addTo } = await import('./init-add.ts');
        await addTo(folder, version, flags.module);
        return;
      }
      if (flags.module !== undefined) throw new StartupError('--module needs --add');
      const { init } = await import('./init.ts');
      await init(folder, version);
    });
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .summary('print a script for shell completion')
    .description('Prints a script that completes commands, options and the procedures of a server.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', completionExamples)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts');
      await printAndExit(completionScript(program, shell));
    });
}
