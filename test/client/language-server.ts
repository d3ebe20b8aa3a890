/** The language server of a compiler, as an editor talks to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Compiler } from '../compilers.ts';

/** What an editor shows where the cursor stands, and where "go to definition" leads: the file and its line. */
export interface Seen {
  readonly hover: string;
  readonly definition: { readonly file: string; readonly line: string } | undefined;
}

/** Where the cursor stands; both numbers from 0. */
interface Cursor {
  readonly line: number;
  readonly character: number;
}

export abstract class LanguageServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #received: Buffer = Buffer.alloc(0);
  #asked = 0;

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      for (let one = this.#next(); one !== undefined; one = this.#next()) this.take(one as never);
    });
  }

  /** Starts with the project in `folder`. */
  abstract start(folder: string): Promise<void>;
  protected abstract at(file: string, text: string, cursor: Cursor): Promise<Seen>;
  /** Takes a message of the server. */
  protected abstract take(message: never): void;

  /** @param place a text of the file: the cursor stands at its last letter */
  async see(file: string, place: string): Promise<Seen> {
    const text = readFileSync(file, 'utf8');
    const before = text.slice(0, text.indexOf(place) + place.length - 1).split('\n');
    const cursor = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
    const { hover, definition } = await this.at(file, text, cursor);
    return { hover: hover.replace(/\s+/g, ' '), definition };
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  protected ask(send: (id: number) => void): Promise<unknown> {
    this.#asked++;
    const id = this.#asked;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      send(id);
    });
  }

  protected answered(id: number, result: unknown): void {
    this.#waiting.get(id)?.(result);
  }

  protected write(text: string): void {
    this.#child.stdin?.write(text);
  }

  #next(): unknown {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const length = Number(
      /Content-Length: (\d+)/i.exec(this.#received.toString('latin1', 0, end))?.[1],
    );
    const begin = end + 4;
    if (this.#received.length < begin + length) return undefined;
    const body = this.#received.toString('utf8', begin, begin + length);
    this.#received = this.#received.subarray(begin + length);
    return JSON.parse(body);
  }
}

/** @param line from 0 */
function lineOf(file: string, line: number): Seen['definition'] {
  return {
    file: basename(file),
    line: (readFileSync(file, 'utf8').split('\n')[line] ?? '').trim(),
  };
}

/** That of TypeScript 7: https://microsoft.github.io/language-server-protocol/ */
class Lsp extends LanguageServer {
  constructor({ main }: Compiler) {
    super([main, '--lsp', '--stdio']);
  }

  async start(folder: string): Promise<void> {
    const textDocument = { hover: { contentFormat: ['plaintext'] } };
    await this.#request('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: { textDocument },
    });
    this.#send({ method: 'initialized', params: {} });
  }

  protected async at(file: string, text: string, position: Cursor): Promise<Seen> {
    const uri = pathToFileURL(file).href;
    const item = { uri, languageId: 'typescript', version: 1, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument: item } });
    const at = { textDocument: { uri }, position };
    const hover = (await this.#request('textDocument/hover', at)) as {
      readonly contents?: { readonly value: string };
    } | null;
    const found = (await this.#request('textDocument/definition', at)) as
      | readonly { readonly uri: string; readonly range: { readonly start: Cursor } }[]
      | null;
    this.#send({ method: 'textDocument/didClose', params: { textDocument: { uri } } });
    const [first] = found ?? [];
    const definition = first && lineOf(fileURLToPath(first.uri), first.range.start.line);
    return { hover: hover?.contents?.value ?? '', definition };
  }

  protected take({ id, method, result }: { id?: number; method?: string; result?: unknown }): void {
    if (id === undefined) return;
    // The server asks back (for settings, say): it gets nothing.
    if (method !== undefined) this.#send({ id, result: null });
    else this.answered(id, result);
  }

  #request(method: string, params: object): Promise<unknown> {
    return this.ask((id) => this.#send({ id, method, params }));
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
}

/** That of earlier versions: https://github.com/microsoft/TypeScript/wiki/Standalone-Server-(tsserver) */
class TsServer extends LanguageServer {
  constructor({ folder }: Compiler) {
    super([join(folder, 'lib/tsserver.js'), '--disableAutomaticTypingAcquisition']);
  }

  /** It finds the project of each file that is opened. */
  async start(): Promise<void> {}

  protected async at(file: string, text: string, { line, character }: Cursor): Promise<Seen> {
    this.#send(0, 'open', { file, fileContent: text });
    const place = { file, line: line + 1, offset: character + 1 };
    const info = (await this.#request('quickinfo', place)) as {
      readonly displayString: string;
      readonly documentation: string | readonly { readonly text: string }[];
    };
    const [first] = (await this.#request('definition', place)) as readonly {
      readonly file: string;
      readonly start: { readonly line: number };
    }[];
    const { documentation } = info;
    const comment =
      typeof documentation === 'string'
        ? documentation
        : documentation.map((part) => part.text).join('');
    const definition = first && lineOf(first.file, first.start.line - 1);
    return { hover: `${info.displayString} ${comment}`.trim(), definition };
  }

  protected take(message: { type: string; request_seq?: number; body?: unknown }): void {
    if (message.type === 'response') this.answered(message.request_seq ?? 0, message.body);
  }

  #request(command: string, args: object): Promise<unknown> {
    return this.ask((id) => this.#send(id, command, args));
  }

  #send(seq: number, command: string, args: object): void {
    this.write(`${JSON.stringify({ seq, type: 'request', command, arguments: args })}\n`);
  }
}

export function languageServer(compiler: Compiler): LanguageServer {
  return Number.parseInt(compiler.version, 10) < 7 ? new TsServer(compiler) : new Lsp(compiler);
}
