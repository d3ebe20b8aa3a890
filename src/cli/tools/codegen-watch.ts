import { dirname, resolve } from 'node:path';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { openRpcOf } from '../../core/procedures/document/openrpc.ts';
import { tableOf } from '../../core/procedures/router.ts';
import { printFailure } from '../failure.ts';
import { generateFrom, printUndeclared, writeOut } from './contract-file.ts';
import { loadQuietly } from './module-source.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';
import { kindOf, readOpenRpc, toOpenRpc } from './source.ts';

export interface WatchOptions extends RemoteOptions {
  /** Milliseconds between two requests to a URL. */
  readonly intervalMs: number;
}

/** One save may be several events: the source is read when no event has come for this long. */
const settleMs = 50;

/**
 * Keeps `out` current until a signal ends the process. A broken source is reported, and read again when it changes.
 */
export async function watchSource(
  source: string,
  out: string,
  options: WatchOptions,
): Promise<void> {
  if (source === '-') throw new StartupError('--watch: what comes from stdin comes once');
  const output = new WatchedOutput(source, out);
  if (kindOf(source) === 'url') await poll(source, options, output);
  else await watchFiles(source, out, options, output);
}

/** Writes the file and prints what is new; prints each failure once. */
class WatchedOutput {
  readonly #source: string;
  readonly #out: string;
  #text: string | undefined;
  #failure: string | undefined;
  #undeclared: string | undefined;

  constructor(source: string, out: string) {
    this.#source = source;
    this.#out = out;
  }

  /** @param read gives the document; undefined: the document has not changed */
  async update(read: () => Promise<unknown>): Promise<void> {
    try {
      const document = await read();
      const recovered = this.#failure !== undefined;
      this.#failure = undefined;
      if (document === undefined) return;
      const generated = generateFrom(this.#source, document);
      if (generated.text === this.#text && !recovered) return;
      const line = await writeOut(generated, this.#out);
      this.#text = generated.text;
      this.#undeclared = printUndeclared(generated, this.#undeclared);
      process.stdout.write(`${line}\n`);
    } catch (error) {
      const failure = messageOf(error);
      if (failure !== this.#failure) printFailure(failure);
      this.#failure = failure;
    }
  }
}

async function poll(url: string, options: WatchOptions, output: WatchedOutput): Promise<void> {
  let etag: string | undefined;
  for (;;) {
    await output.update(async () => {
      const document = await fetchDocument(url, 'openrpc', options, etag);
      etag = document?.etag ?? etag;
      return document && toOpenRpc(document.value, url);
    });
    await new Promise((wake) => setTimeout(wake, options.intervalMs));
  }
}

async function watchFiles(
  source: string,
  out: string,
  options: WatchOptions,
  output: WatchedOutput,
): Promise<void> {
  const { watch } = await import('chokidar');
  // Folders are watched in place of files, so that a file that is new, or was broken at first, is seen too.
  const watcher = watch(dirname(resolve(source)), { ignoreInitial: true, depth: 0 });
  const read = async (): Promise<unknown> => {
    if (kindOf(source) === 'document') return readOpenRpc(source, options);
    const { router, files } = await loadQuietly(source, 1);
    watcher.add([...new Set([...files.keys()].map((file) => dirname(file)))]);
    return openRpcOf(tableOf(router));
  };
  let running: Promise<void> = Promise.resolve();
  const update = (): void => {
    running = running.then(() => output.update(read));
  };
  let timer: NodeJS.Timeout | undefined;
  watcher.on('all', (_event, path) => {
    if (resolve(path) === resolve(out)) return; // this command wrote it
    clearTimeout(timer);
    timer = setTimeout(update, settleMs);
  });
  watcher.on('error', (error) => printFailure(`watching ${source} failed: ${String(error)}`));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
  });
  update();
  await running;
}
