import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type WebSocket from 'ws';
import { RpcError } from '../../client/outcome.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printFailure } from '../failure.ts';
import { compactJson, prettyJson, table, wantsColour } from '../output.ts';
import { callStream, endOf, type StreamEnd } from './call-stream.ts';
import { memberText } from './json-text.ts';
import { isRegistry } from './registry.ts';
import { exchangeOnce, fetchDocument, type RemoteOptions } from './remote.ts';

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

interface SocketCall {
  readonly method: string;
  /** JSON text. */
  readonly params: string | undefined;
  readonly notify: boolean;
}

/** A server that is there answers the upgrade at once. */
const handshakeMs = 30_000;

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/**
 * Makes one call over a WebSocket of its own. Of a procedure that streams, the values are read to the end.
 *
 * @param onValue called with the JSON text of each value, as the server wrote it; the next one is read when it resolves
 * @param signal ends the subscription
 * @returns undefined for a notification, and where the signal aborted
 */
export async function callSocket(
  url: string,
  { method, params, notify }: SocketCall,
  options: RemoteOptions,
  onValue: (text: string) => Promise<void>,
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
  const leave = (): void => {
    socket.close();
    // A socket that is paused would not read the server's goodbye, and hold the process until its timer ends it.
    socket.removeAllListeners('message');
    socket.resume();
  };
  try {
    const messages = messagesOf(socket, signal);
    await messages.opened;
    const idText = notify ? '' : '"id":1,';
    const paramsText = params === undefined ? '' : `,"params":${params}`;
    socket.send(`{"jsonrpc":"2.0",${idText}"method":${JSON.stringify(method)}${paramsText}}`);
    if (notify) return undefined;
    for await (const text of messages) {
      const message = JSON.parse(text) as Message;
      if (message.id !== undefined) {
        if (await isSubscription(url, method, message.result, options)) continue;
        return endOf(method, text, 'the reply');
      }
      const brought = memberText(text, 'params') ?? '{}';
      if (message.method === 'rpc.end') return endOf(method, brought, 'the end of the stream');
      await onValue(memberText(brought, 'result') ?? 'null');
    }
    return undefined;
  } catch (cause) {
    const error = new StartupError(`${url}: ${(cause as Error).message}`, { cause });
    return { ok: false, error };
  } finally {
    leave();
  }
}

/** The messages of a socket, one by one: while one is worked on, the socket is not read. */
interface Messages extends AsyncIterable<string> {
  readonly opened: Promise<void>;
}

function messagesOf(socket: WebSocket, signal: AbortSignal): Messages {
  const texts: string[] = [];
  let failure: Error | undefined;
  let isOver = false;
  let wake = (): void => {};
  const fail = (error: Error): void => {
    failure ??= error;
    wake();
  };
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
    socket.once('close', (code: number) => reject(new Error(`the connection closed (${code})`)));
  });
  socket.on('message', (data: Buffer) => {
    texts.push(data.toString());
    socket.pause();
    wake();
  });
  socket.on('error', fail);
  socket.on('close', (code: number) => fail(new Error(`the connection closed (${code})`)));
  signal.addEventListener('abort', () => {
    isOver = true;
    wake();
  });
  async function* read(): AsyncGenerator<string> {
    while (!isOver) {
      const text = texts.shift();
      if (text !== undefined) {
        yield text;
        continue;
      }
      if (failure !== undefined) throw failure;
      socket.resume();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return { opened, [Symbol.asyncIterator]: read };
}

const subscriptionId = /^0x[\da-f]+$/;

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
  if (typeof result !== 'string' || !subscriptionId.test(result)) return false;
  try {
    const document = await fetchDocument(url.replace(/^ws/i, 'http'), 'tandem', options);
    if (!isRegistry(document?.value)) return true;
    return document.value[method]?.stream !== undefined;
  } catch {
    return true;
  }
}
