import { on, once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type Bytes, eventsOf } from '../../client/event-lines.ts';
import { type Call, toRequest } from '../../client/exchange.ts';
import { RpcError } from '../../client/outcome.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printFailure } from '../exit.ts';
import { table } from '../output.ts';
import { exchangeOnce, fetchDocument, isRegistry, type RemoteOptions, readText } from './remote.ts';

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

/** How a call ended whose values were given before. */
export type StreamEnd =
  | { readonly ok: true /** JSON text. */; readonly result: string }
  | { readonly ok: false; readonly error: Error };

/** Called with the JSON text of each value, as the server wrote it. The next one is read when it resolves. */
type OnValue = (text: string) => Promise<void>;

/**
 * Calls a procedure that streams, over server-sent events. If the server answers with one reply, that is the end.
 *
 * @param signal ends the stream
 */
async function callStream(
  url: string,
  call: Call,
  { headers, timeoutMs }: RemoteOptions,
  onValue: OnValue,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const head = new Headers(headers);
  head.set('content-type', 'application/json');
  head.set('accept', 'text/event-stream, application/json');
  if (timeoutMs !== undefined) head.set('rpc-timeout-ms', String(timeoutMs));
  const leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort(), { once: true });
  try {
    const { body } = toRequest([call]);
    const own = { headers: head, body, redirect: 'manual', signal: leave.signal } as const;
    const response = await fetch(url, { method: 'POST', ...own });
    const type = response.headers.get('content-type') ?? '';
    if (!/^text\/event-stream(?:;|$)/i.test(type)) {
      return endOf(call, await readText(response), `${response.status} ${type}`);
    }
    for await (const text of response.body === null ? [] : boundedEventsOf(response.body)) {
      const { params } = JSON.parse(text) as { readonly params?: unknown };
      if (params === undefined) return endOf(call, text, 'the last event');
      await onValue(valueIn(memberText(text, 'params')));
    }
    throw new Error('the connection ended without the last event');
  } catch (cause) {
    const { message, cause: inner } = cause as Error;
    const why = inner instanceof Error ? `${message}: ${inner.message}` : message;
    return { ok: false, error: new StartupError(`POST ${url}: ${why}`, { cause }) };
  } finally {
    leave.abort();
  }
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

/** A server that is there answers the upgrade at once. */
const handshakeMs = 30_000;

/**
 * Makes one call over a WebSocket of its own. If the procedure streams, its values are read to the end.
 *
 * @param signal ends the subscription
 * @returns undefined for a notification, and if the signal aborted
 */
export async function callSocket(
  url: string,
  call: Call,
  options: RemoteOptions,
  onValue: OnValue,
  signal: AbortSignal,
): Promise<StreamEnd | undefined> {
  const { default: Socket } = await import('ws');
  const { headers, timeoutMs } = options;
  const limit = timeoutMs === undefined ? {} : { 'rpc-timeout-ms': String(timeoutMs) };
  const socket = new Socket(url, {
    headers: { ...headers, ...limit },
    perMessageDeflate: false,
    handshakeTimeout: timeoutMs ?? handshakeMs,
  });
  let closeCode: number | undefined;
  socket.once('close', (code: number) => {
    closeCode = code;
  });
  try {
    // While a value is worked on, the socket is not read: a slow reader holds the stream up.
    const messages = on(socket, 'message', { signal, close: ['close'], highWaterMark: 1 });
    await once(socket, 'open');
    socket.send(toRequest([call]).body);
    if (call.notify) return undefined;
    for await (const [data] of messages) {
      const text = String(data);
      const { id, method, result } = JSON.parse(text) as Message;
      if (id !== undefined) {
        if (await isSubscription(url, call.method, result, options)) continue;
        return endOf(call, text, 'the reply');
      }
      const params = memberText(text, 'params');
      if (method === 'rpc.end') return endOf(call, params ?? '{}', 'the end of the stream');
      await onValue(valueIn(params));
    }
    throw new Error(`the connection closed (${closeCode})`);
  } catch (cause) {
    if (signal.aborted) return undefined;
    const error = new StartupError(`${url}: ${(cause as Error).message}`, { cause });
    return { ok: false, error };
  } finally {
    socket.close();
    // A socket that is paused would not read the server's goodbye, and hold the process until its timer ends it.
    socket.removeAllListeners('message');
    socket.resume();
  }
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/**
 * Whether a reply is the id of a subscription whose values follow. Any procedure may return such a text, so the server's
 * document is asked; a server without one is taken to stream.
 */
async function isSubscription(
  url: string,
  method: string,
  result: unknown,
  options: RemoteOptions,
): Promise<boolean> {
  if (typeof result !== 'string' || !/^0x[\da-f]+$/.test(result)) return false;
  try {
    const document = await fetchDocument(url.replace(/^ws/i, 'http'), 'tandem', options);
    if (!isRegistry(document?.value)) return true;
    return document.value[method]?.stream !== undefined;
  } catch {
    return true;
  }
}

/** The value that a notification's params bring. */
function valueIn(params: string | undefined): string {
  return memberText(params ?? '{}', 'result') ?? 'null';
}

interface ReplyMembers {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * What a reply says of the end of a call, or the params of an `rpc.end`, which have the same members.
 *
 * @throws Error if the text is neither; it begins with `where`
 */
function endOf({ method }: Call, text: string, where: string): StreamEnd {
  let reply: ReplyMembers | null;
  try {
    reply = JSON.parse(text) as ReplyMembers | null;
  } catch {
    throw new Error(`${where}: no JSON: ${text.slice(0, 200)}`);
  }
  const { result, error } = reply ?? {};
  if (result !== undefined) return { ok: true, result: memberText(text, 'result') ?? 'null' };
  if (typeof error?.code !== 'number' || typeof error.message !== 'string') {
    throw new Error(`${where}: no reply: ${text.slice(0, 200)}`);
  }
  return { ok: false, error: new RpcError(error.code, error.message, error.data, method) };
}

/** Whether a stream is a terminal whose owner wants colours, https://no-color.org. */
function wantsColour(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR: noColour, TERM: term } = process.env;
  return stream.isTTY === true && (noColour === undefined || noColour === '') && term !== 'dumb';
}

const styles = { name: 36, string: 32, number: 33, word: 35 } as const;

/** JSON text as people read it: indented. Characters that could drive the terminal are escaped. */
export function prettyJson(json: string, colours: boolean): string {
  return layOut(json, true, (text, isName) => {
    const clean = escapeControls(text);
    if (!colours) return clean;
    const value = clean.startsWith('"') ? 'string' : /^[tfn]/.test(clean) ? 'word' : 'number';
    return `\u001b[${styles[isName ? 'name' : value]}m${clean}\u001b[39m`;
  });
}

/** JSON text on one line, for programs. */
export function compactJson(json: string): string {
  return layOut(json, false, (text) => text);
}

/** Deepest indentation. A reply may nest a million levels: deeper lines are indented no further. */
const deepestIndent = 100;

/**
 * Lays JSON text out anew. Values stay as they were written, so that numbers keep all their digits. Nothing recurses.
 *
 * @param text valid JSON
 * @param hasLines true: one member or element a line; false: all on one line
 * @param paint gives the text to print for a value or a name
 */
function layOut(
  text: string,
  hasLines: boolean,
  paint: (text: string, isName: boolean) => string,
): string {
  let output = '';
  let depth = 0;
  let wasBegin = false;
  const line = (): string => (hasLines ? `\n${'  '.repeat(Math.min(depth, deepestIndent))}` : '');
  forEachToken(text, (token, end) => {
    const next = text.charAt(skipSpace(text, end));
    if (isBegin(token)) {
      depth += 1;
      output += isEnd(next) ? token : token + line();
    } else if (isEnd(token)) {
      depth -= 1;
      output += wasBegin ? token : line() + token;
    } else if (token === ',') output += token + line();
    else if (token === ':') output += hasLines ? ': ' : token;
    else output += paint(token, next === ':');
    wasBegin = isBegin(token);
  });
  return output;
}

/**
 * The text of an object's member as it was written. Of several members of one name the last counts, as for
 * JSON.parse.
 *
 * @param text valid JSON, an object
 * @returns undefined if there is no such member
 */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0;
  let from: number | undefined;
  let found: string | undefined;
  let last = '';
  forEachToken(text, (token, end) => {
    if (token === ':' && depth === 1) from = JSON.parse(last) === name ? end : undefined;
    if (isEnd(token)) depth -= 1;
    if (from !== undefined && (depth === 0 || (depth === 1 && token === ','))) {
      found = text.slice(from, end - 1).trim();
      from = undefined;
    }
    if (isBegin(token)) depth += 1;
    last = token;
  });
  return found;
}

function isBegin(token: string): boolean {
  return token === '{' || token === '[';
}

function isEnd(token: string): boolean {
  return token === '}' || token === ']';
}

const punctuation = '{}[],:';

/** A loop instead of a pattern: a pattern that matches strings overflows the stack on long ones. */
function forEachToken(text: string, visit: (token: string, end: number) => void): void {
  for (let start = skipSpace(text, 0); start < text.length; ) {
    const end = endOfToken(text, start);
    visit(text.slice(start, end), end);
    start = skipSpace(text, end);
  }
}

function endOfToken(text: string, start: number): number {
  let end = start + 1;
  if (text[start] === '"') {
    while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    return end + 1;
  }
  if (punctuation.includes(text.charAt(start))) return end;
  while (end < text.length && !/[\s{}[\],:"]/.test(text.charAt(end))) end += 1;
  return end;
}

function skipSpace(text: string, start: number): number {
  let end = start;
  while (' \t\r\n'.includes(text[end] ?? '-')) end += 1;
  return end;
}
