import { type Command, CommanderError } from 'commander';
import { addRemoteOptions, parseDuration, remoteOptions } from './client-options.ts';

const pollMs = 1000;

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
`;

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

// Loads each command's code when the command runs: help and version need none of it.

/** `tandem codegen`, `diff`, `schema`, `call` and `list` */
export function addContractCommands(program: Command): void {
  addCodegen(program);
  addDiff(program);
  addSchema(program);
  addCall(program);
  addList(program);
}

function addCodegen(program: Command): void {
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
  addRemoteOptions(command).action(async (source: string) => {
    const {
      out,
      check = false,
      watch = false,
      interval = pollMs,
    } = command.opts<{ out?: string; check?: true; watch?: true; interval?: number }>();
    const { codegen } = await import('./codegen.ts');
    const options = { ...remoteOptions(command), out, check, watch, intervalMs: interval };
    await codegen(source, options);
  });
}

function addDiff(program: Command): void {
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
  addRemoteOptions(command).action(async (before: string, after: string) => {
    const { json = false, allowUnknown = false } = command.opts<{
      json?: true;
      allowUnknown?: true;
    }>();
    const { diff } = await import('./diff.ts');
    await diff(before, after, { ...remoteOptions(command), json, allowUnknown });
  });
}

function addSchema(program: Command): void {
  const command = program
    .command('schema')
    .summary('print the document of a service')
    .description('Prints the introspection document of a module or a server, or the OpenRPC one.')
    .argument('<source>', 'a module or a URL')
    .option('--openrpc', 'the OpenRPC 1.4 document')
    .addHelpText('after', schemaExamples);
  addRemoteOptions(command).action(async (source: string) => {
    const { openrpc = false } = command.opts<{ openrpc?: true }>();
    const { schema } = await import('./schema.ts');
    await schema(source, { ...remoteOptions(command), openrpc });
  });
}

function addCall(program: Command): void {
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
  addRemoteOptions(command).action(async (url: string, method: string, params: string[]) => {
    const { notify = false, sse = false } = command.opts<{ notify?: true; sse?: true }>();
    const { call } = await import('./call.ts');
    await call(url, method, params, { ...remoteOptions(command), notify, sse });
  });
}

function addList(program: Command): void {
  const command = program
    .command('list')
    .summary('list the procedures of a service with their types')
    .description('Lists the procedures of a service with their types.')
    .argument('<source>', 'a URL, a document or a module')
    .option('--names', 'the names alone, one a line')
    .addHelpText('after', listExamples);
  addRemoteOptions(command).action(async (source: string) => {
    const { names = false } = command.opts<{ names?: true }>();
    const { list } = await import('./list.ts');
    await list(source, { ...remoteOptions(command), names });
  });
}
