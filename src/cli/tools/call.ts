import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type Bytes, eventsOf } from '../../client/event-lines.ts';
import type { Call } from '../../client/exchange.ts';
import { RpcError } from '../../client/outcome.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { printFailure } from '../exit.ts';
import { table } from '../output.ts';
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
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new StartupError(`${url} is no http or https URL, such as http://127.0.0.1:8000/rpc`);
  }
  const params = args.length === 1 && args[0] === '-' ? await fromStdin() : paramsOf(args);
  const { notify, sse } = options;
  const asked = { method, params, notify };
  if (sse && notify) throw new StartupError('--sse needs a reply: leave out --notify');
  if (sse) {
    await printStream(url, asked, options);
    return;
  }
  const { outcome, body } = await exchangeOnce(url, asked, options);
  if (!outcome.ok) printError(outcome.error);
  else if (!notify) process.stdout.write(`${resultText(body)}\n`);
}

/** Reads a stream by server-sent events. If the server answers with one reply, that is the end. */
async function printStream(url: string, asked: Call, options: RemoteOptions): Promise<void> {
  const { stdout } = process;
  const gone = new AbortController();
  const { signal } = gone;
  stdout.once('error', () => gone.abort());
  const print = async (text: string): Promise<void> => {
    // If the values are read slowly, the stream must stand still, not this process grow.
    if (!stdout.write(`${text}\n`)) await once(stdout, 'drain', { signal });
  };
  const readEvents = async (stream: Bytes): Promise<string> => {
    for await (const event of boundedEventsOf(stream)) {
      const { params } = JSON.parse(event) as { readonly params?: unknown };
      if (params === undefined) return event;
      await print(memberText(memberText(event, 'params'), 'result'));
    }
    throw new Error('the connection ended without the last event');
  };
  try {
    const { outcome, body } = await exchangeOnce(url, asked, options, readEvents, signal);
    const result = outcome.ok ? memberText(body, 'result') : 'null';
    if (!outcome.ok) printError(outcome.error);
    // Most streams return nothing.
    else if (result !== 'null') await print(result);
  } catch (error) {
    // `| head` has what it wants.
    if (!signal.aborted) throw error;
  }
}

function printError(error: Error): void {
  if (error instanceof RpcError) printRpcError(error);
  else printFailure(error.message);
  process.exitCode = 1;
}

/** The result of a reply, for a program on one line, on a terminal indented. */
function resultText(body: string): string {
  const text = memberText(body, 'result');
  return process.stdout.isTTY ? indented(text) : text;
}

/**
 * The member `result` or `params` of a reply or an event. The text of the usual order of members stays as the server wrote it:
 * a JavaScript value would lose the last digits of large numbers.
 *
 * @param text valid JSON, an object
 */
function memberText(text: string, name: 'result' | 'params'): string {
  const usual = usualOrder[name].exec(text)?.[1];
  if (usual !== undefined && isJson(usual)) return usual.trim();
  const value = (JSON.parse(text) as { readonly [member: string]: unknown })[name];
  return JSON.stringify(value ?? null);
}

/** Servers write the envelope first, and what may be long last. */
const usualOrder = {
  result:
    /^\s*\{(?:\s*"(?:jsonrpc|id|subscription)"\s*:\s*(?:"[\w.-]*"|\d+)\s*,)*\s*"result"\s*:(.*)\}\s*$/s,
  params:
    /^\s*\{\s*"jsonrpc"\s*:\s*"2.0"\s*,\s*"method"\s*:\s*"[^"\\]*"\s*,\s*"params"\s*:(.*)\}\s*$/s,
} as const;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON text as people read it. What would lose digits by being read and written, or nests too deep, stays as it is. */
function indented(text: string): string {
  let shown = text;
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) === text) shown = JSON.stringify(value, undefined, 2);
  } catch {
    // Writing recurses deeper than parsing does.
  }
  return shown.split('\n').map(escapeControls).join('\n');
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
    return didYouMean(data.didYouMean);
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
    text = JSON.stringify(data, undefined, 2);
  } catch {
    // Writing recurses deeper than parsing does.
  }
  return text.split('\n').map(escapeControls);
}

/** Bytes of one event. */
const longest = 64 * 1024 * 1024;

/**
 * The data of each server-sent event, as it comes. A server that never ends an event is cut.
 *
 * @param most bytes that may come without an event
 * @throws Error for an event that is longer
 */
export async function* boundedEventsOf(
  stream: Bytes,
  most: number = longest,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  let bytes = 0;
  const read = async () => {
    const piece = await reader.read();
    bytes += piece.value?.length ?? 0;
    if (bytes > most) throw new Error(`an event is longer than ${most} bytes`);
    return piece;
  };
  for await (const event of eventsOf({ getReader: () => ({ read }) })) {
    bytes = 0;
    yield event;
  }
}
