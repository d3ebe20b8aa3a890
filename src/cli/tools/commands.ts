import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { StartupError } from '../../core/base/startup-error.ts';
import type { OptionName } from '../../core/config/config.ts';
import { duration } from '../../core/config/kinds.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';
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
for stdin; OpenRPC or introspection), or a module that exports a Router (./procedures.ts).
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

const openApiOptions: readonly OptionName[] = [
  'httpPath',
  'httpProcedures',
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

const initExamples = `
Examples:
  tandem init my-service
  tandem init            # into this folder
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
    .description('Calls one procedure of a JSON-RPC 2.0 server over HTTP.')
    .argument('<url>', 'of the JSON-RPC path: http or https')
    .argument('<method>', "the procedure's full name")
    .argument('[params...]', 'JSON, bare strings, or - for stdin')
    .option('-n, --notify', 'send it as a notification: nothing comes back')
    .option('--sse', 'read a stream: each value is a line, then the result; Ctrl+C ends it')
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

export function addInit(program: Command, version: string): void {
  program
    .command('init')
    .summary('write a new project')
    .description(
      'Writes a project: procedures, a typed client, a test, scripts. Needs no network, and overwrites nothing.',
    )
    .argument('[dir]', 'the folder, made where it does not exist', '.')
    .addOption(new Option('--add').hideHelp())
    .addHelpText('after', initExamples)
    .action(async (folder: string, flags: { readonly add?: true }) => {
      if (flags.add) {
        throw new StartupError(
          'tandem init --add is gone: "In a project that exists" of docs/codegen.md has the lines to type',
        );
      }
      const { init } = await import('./init.ts');
      await init(folder, version);
    });
}
