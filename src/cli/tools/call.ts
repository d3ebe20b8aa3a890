import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { RpcError } from '../../client/outcome.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printFailure } from '../exit.ts';
import { table } from '../output.ts';
import { callSocket, callStream, type StreamEnd } from './call-stream.ts';
import { compactJson, memberText, prettyJson, wantsColour } from './json-text.ts';
import { exchangeOnce, type RemoteOptions } from './remote.ts';

export interface CallOptions extends RemoteOptions {
  readonly notify: boolean;
  /** Read a stream, by server-sent events. */
  readonly sse: boolean;
}

/**
 * `tandem call`: prints the result on stdout; of a stream, each value on a line of its own before it. An error is printed
 * with its data on stderr, and the exit code is 1.
 */
export async function call(
  url: string,
  method: string,
  args: readonly string[],
  options: CallOptions,
): Promise<void> {
  if (/^https?\+unix:/i.test(url)) {
    throw new StartupError(
      'this command reaches no Unix socket: use curl --unix-socket <file> http://localhost/rpc, as the server shows when it starts',
    );
  }
  if (!/^(?:http|ws)s?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new StartupError(
      `${url} is no http, https, ws or wss URL, such as http://127.0.0.1:8000/rpc`,
    );
  }
  const params = args.length === 1 && args[0] === '-' ? await fromStdin() : paramsOf(args);
  const { notify, sse } = options;
  const asked = { method, params, notify };
  if (sse && notify) throw new StartupError('--sse needs a reply: leave out --notify');
  const isSocket = /^ws/i.test(url);
  if (sse && isSocket) {
    throw new StartupError(`--sse is for http URLs: over ${url} a stream needs no flag`);
  }
  if (sse || isSocket) {
    const read = isSocket ? callSocket : callStream;
    await printStream((onValue, signal) => read(url, asked, options, onValue, signal));
    return;
  }
  const { outcome, body } = await exchangeOnce(url, asked, options);
  if (!outcome.ok) {
    printError(outcome.error);
  } else if (!notify) {
    process.stdout.write(`${resultText(body)}\n`);
  }
}

/** @param read calls, gives each value to its first argument, and tells how the call ended; undefined: nothing is printed */
async function printStream(
  read: (
    onValue: (text: string) => Promise<void>,
    signal: AbortSignal,
  ) => Promise<StreamEnd | undefined>,
): Promise<void> {
  const { stdout } = process;
  const gone = new AbortController();
  const { signal } = gone;
  stdout.once('error', () => gone.abort());
  const print = async (text: string): Promise<void> => {
    // If the values are read slowly, the stream must stand still, not this process grow.
    if (!stdout.write(`${compactJson(text)}\n`)) await once(stdout, 'drain', { signal });
  };
  const end = await read(print, signal);
  if (end === undefined || signal.aborted) return; // `| head` has what it wants
  if (!end.ok) printError(end.error);
  // Most streams return nothing.
  else if (end.result !== 'null') await print(end.result);
}

function printError(error: Error): void {
  if (error instanceof RpcError) printRpcError(error);
  else printFailure(error.message);
  process.exitCode = 1;
}

/** The result's text as the reply has it: as a JavaScript value, large numbers would lose their last digits. */
function resultText(body: string): string {
  const text = memberText(body, 'result') ?? 'null';
  return process.stdout.isTTY ? prettyJson(text, wantsColour(process.stdout)) : compactJson(text);
}

/**
 * The params' JSON text. One argument that is an object or an array is the whole params. Other arguments are
 * positional params, each one JSON or a bare string. Numbers stay as they were written.
 *
 * @throws StartupError
 */
function paramsOf(args: readonly string[]): string | undefined {
  if (args.length === 0) return undefined;
  const texts = args.map(argumentText);
  const [only = ''] = texts;
  return texts.length === 1 && /^[{[]/.test(only) ? only : `[${texts.join(',')}]`;
}

function argumentText(arg: string): string {
  const trimmed = arg.trim();
  try {
    JSON.parse(trimmed);
    return trimmed;
  } catch (error) {
    // An argument that begins like JSON was meant as JSON: sent as a string it would puzzle the procedure's author.
    if (!/^[{["]/.test(trimmed)) return JSON.stringify(arg);
    throw new StartupError(`the argument ${arg} is not JSON: ${(error as Error).message}`);
  }
}

async function fromStdin(): Promise<string | undefined> {
  const content = (await text(process.stdin)).trim();
  if (content === '') return undefined;
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value === 'object' && value !== null) return content;
  } catch (error) {
    throw new StartupError(`stdin is not JSON: ${(error as Error).message}`);
  }
  throw new StartupError('stdin must hold an object or an array: the params');
}

const invalidParams = -32602;
const methodNotFound = -32601;

function printRpcError({ code, message, data, method }: RpcError): void {
  const hint = code === methodNotFound ? hintOf(data) : '';
  printFailure(`${method}: ${message} (${code})${hint}`);
  if (data === undefined || hint !== '') return;
  const lines = code === invalidParams && isListOfIssues(data) ? issueTable(data) : jsonLines(data);
  process.stderr.write(lines.map((line) => `  ${line}\n`).join(''));
}

/** What to call instead of a method that is not found. The server's words for a stream are those of the protocol. */
function hintOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  if ('didYouMean' in data && typeof data.didYouMean === 'string') {
    return `; did you mean ${data.didYouMean}?`;
  }
  const streams = 'reason' in data && String(data.reason).startsWith('it streams:');
  return streams ? '; it is a stream: add --sse' : '';
}

const issueColumns = ['path', 'message', 'expected', 'received'] as const;
type Issue = Readonly<Record<(typeof issueColumns)[number], string>>;

function isListOfIssues(data: unknown): data is readonly Issue[] {
  const isIssue = (one: Partial<Issue> | null): boolean =>
    issueColumns.every((column) => typeof one?.[column] === 'string');
  return Array.isArray(data) && data.every(isIssue);
}

function issueTable(issues: readonly Issue[]): string[] {
  const rows = issues.map((issue) => issueColumns.map((column) => issue[column]));
  for (const row of rows) row[0] ||= '(params)';
  return table([issueColumns, ...rows]);
}

function jsonLines(data: unknown): string[] {
  let text = '"(data that nests too deep to be shown)"';
  try {
    text = JSON.stringify(data);
  } catch {
    // Writing recurses deeper than parsing does.
  }
  return prettyJson(text, wantsColour(process.stderr)).split('\n');
}
