import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { StartupError } from '../../base/startup-error.ts';
import { RpcError } from '../../client/errors.ts';
import { printFailure } from '../failure.ts';
import { compactJson, prettyJson, table, wantsColour } from '../output.ts';
import { callSocket } from './call-socket.ts';
import { callStream, type StreamEnd } from './call-stream.ts';
import { memberText } from './json-text.ts';
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
  if (sse && notify) throw new StartupError('--sse needs a reply: leave out --notify');
  if (/^ws/i.test(url)) {
    if (sse) throw new StartupError(`--sse is for http URLs: over ${url} a stream needs no flag`);
    await printStream((onValue, signal) =>
      callSocket(url, { method, params, notify }, options, onValue, signal),
    );
    return;
  }
  if (sse) {
    await printStream((onValue, signal) =>
      callStream(url, { method, params }, options, onValue, signal),
    );
    return;
  }
  const { outcome, body } = await exchangeOnce(url, { method, params, notify }, options);
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
    // Where the values are read slowly, the stream must stand still, not this process grow.
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
export function paramsOf(args: readonly string[]): string | undefined {
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

function printRpcError({ code, message, data, method }: RpcError): void {
  const more = code === methodNotFound ? hint(data) : '';
  printFailure(`${method}: ${message} (${code})${more}`);
  const lines = dataLines(code, data);
  if (lines.length > 0) process.stderr.write(`${lines.map((line) => `  ${line}`).join('\n')}\n`);
}

/** What to call in place of a method that is not found. The server's words for a stream are those of the protocol. */
function hint(data: unknown): string {
  if (typeof data !== 'object' || data === null) return '';
  if ('didYouMean' in data && typeof data.didYouMean === 'string') {
    return `; did you mean ${data.didYouMean}?`;
  }
  const streams = 'reason' in data && String(data.reason).startsWith('it streams:');
  return streams ? '; it is a stream: add --sse' : '';
}

const invalidParams = -32602;
const methodNotFound = -32601;

function dataLines(code: number, data: unknown): string[] {
  if (data === undefined || (code === methodNotFound && hint(data) !== '')) return [];
  if (code === invalidParams && Array.isArray(data) && data.every(isIssue)) {
    const rows = data.map(({ path, message, expected, received }) => [
      path === '' ? '(params)' : path,
      message,
      expected,
      received,
    ]);
    return table([['path', 'message', 'expected', 'received'], ...rows]);
  }
  return prettyJson(jsonOf(data), wantsColour(process.stderr)).split('\n');
}

function jsonOf(data: unknown): string {
  try {
    return JSON.stringify(data);
  } catch {
    return '"(data that nests too deep to be shown)"'; // writing recurses deeper than parsing does
  }
}

interface Issue {
  readonly path: string;
  readonly message: string;
  readonly expected: string;
  readonly received: string;
}

function isIssue(value: unknown): value is Issue {
  if (typeof value !== 'object' || value === null) return false;
  const facts = value as Readonly<Record<string, unknown>>;
  return ['path', 'message', 'expected', 'received'].every((key) => typeof facts[key] === 'string');
}
