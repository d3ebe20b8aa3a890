/** The language server of the compiler, as an editor talks to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { root } from '../files.ts';

const compiler = join(root, 'node_modules/typescript/bin/tsc');

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
}

interface Location {
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number } };
}

/** What an editor shows where the cursor stands, and where "go to definition" leads: the file and its line. */
export interface Seen {
  readonly hover: string;
  readonly definition: { readonly file: string; readonly line: string } | undefined;
}

export class LanguageServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #received: Buffer = Buffer.alloc(0);
  #asked = 0;

  constructor() {
    this.#child = spawn(process.execPath, [compiler, '--lsp', '--stdio'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      for (let one = this.#next(); one !== undefined; one = this.#next()) this.#take(one);
    });
  }

  async start(folder: string): Promise<void> {
    const textDocument = { hover: { contentFormat: ['plaintext'] } };
    const rootUri = pathToFileURL(folder).href;
    await this.#ask('initialize', {
      processId: process.pid,
      rootUri,
      capabilities: { textDocument },
    });
    this.#send({ method: 'initialized', params: {} });
  }

  /** @param place a text of the file: the cursor stands at its last letter */
  async see(file: string, place: string): Promise<Seen> {
    const uri = pathToFileURL(file).href;
    const text = readFileSync(file, 'utf8');
    const item = { uri, languageId: 'typescript', version: 1, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument: item } });
    const before = text.slice(0, text.indexOf(place) + place.length - 1).split('\n');
    const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
    const at = { textDocument: { uri }, position };
    const hover = (await this.#ask('textDocument/hover', at)) as {
      readonly contents?: { readonly value: string };
    } | null;
    const found = (await this.#ask('textDocument/definition', at)) as readonly Location[] | null;
    this.#send({ method: 'textDocument/didClose', params: { textDocument: { uri } } });
    const [first] = found ?? [];
    return {
      hover: (hover?.contents?.value ?? '').replace(/\s+/g, ' '),
      definition: first && lineOf(first),
    };
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  #ask(method: string, params: object): Promise<unknown> {
    this.#asked++;
    const id = this.#asked;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ id, method, params });
    });
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin?.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #next(): Message | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const length = Number(
      /Content-Length: (\d+)/i.exec(this.#received.toString('latin1', 0, end))?.[1],
    );
    const begin = end + 4;
    if (this.#received.length < begin + length) return undefined;
    const body = this.#received.toString('utf8', begin, begin + length);
    this.#received = this.#received.subarray(begin + length);
    return JSON.parse(body) as Message;
  }

  #take({ id, method, result }: Message): void {
    if (id === undefined) return;
    // The server asks back (for settings, say): it gets nothing.
    if (method !== undefined) this.#send({ id, result: null });
    else this.#waiting.get(id)?.(result);
  }
}

function lineOf({ uri, range }: Location) {
  const file = fileURLToPath(uri);
  const line = readFileSync(file, 'utf8').split('\n')[range.start.line] ?? '';
  return { file: file.slice(file.lastIndexOf('/') + 1), line: line.trim() };
}
