import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Generated, generate } from '../../client/codegen/generate.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { counted } from '../../core/base/text.ts';
import type { Log } from '../../core/observe/log.ts';
import { openRpcOf } from '../../core/procedures/document/openrpc.ts';
import { type AnyRouter, onReplaced, tableOf } from '../../core/procedures/router.ts';
import { undeclaredResults } from '../../core/service/servable.ts';
import { printAndExit, printFailure } from '../exit.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';
import { explained, kindOf, readOpenRpc, toOpenRpc } from './source.ts';

export interface CodegenOptions extends RemoteOptions {
  readonly out: string | undefined;
  readonly check: boolean;
  readonly watch: boolean;
  /** Milliseconds between two requests to a URL that is watched. */
  readonly intervalMs: number;
}

/** `tandem codegen`: prints the contract's file, writes it, compares it, or keeps it current. */
export async function codegen(source: string, options: CodegenOptions): Promise<void> {
  const { out, check, watch } = options;
  if (out === undefined && (check || watch)) {
    throw new StartupError(
      `--${check ? 'check' : 'watch'} needs --out: the file to ${check ? 'compare' : 'keep current'}`,
    );
  }
  if (check && watch) throw new StartupError('--check and --watch: give one of them');
  if (out !== undefined && watch) {
    await keepCurrent(source, out, options);
    return;
  }
  const generated = generateFrom(source, await readOpenRpc(source, options));
  // A check compares what an earlier run has written, and has spoken of.
  if (!check) printUndeclared(generated);
  if (out === undefined) await printAndExit(generated.text);
  else if (check) await compare(generated, source, out);
  else {
    const isNew = await writeOut(generated, out);
    await printAndExit(`${outcomeOf(generated, out, isNew)}\n`);
  }
}

function generateFrom(source: string, document: unknown): Generated {
  return explained(source, () => generate(document));
}

/**
 * Names on stderr the procedures without `returns`.
 *
 * @param before what was printed last, which is not printed again
 * @returns what is known now
 */
function printUndeclared({ undeclared }: Generated, before?: string): string | undefined {
  const line = undeclaredResults(undeclared);
  if (line !== undefined && line !== before) printFailure(line);
  return line;
}

/** Most lines to show as removed or added: texts that differ in more have little in common. */
const maxEdits = 1500;

async function compare({ text, methods }: Generated, source: string, out: string): Promise<void> {
  const before = await readOut(out);
  if (before === text) await printAndExit(`${out} is current: ${counted(methods, 'procedure')}\n`);
  const fix = `run tandem codegen ${source} --out ${out}`;
  if (before === undefined) throw new StartupError(`${out} does not exist: ${fix}`);
  printFailure(`${out} has drifted from ${source}: ${fix}`);
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const limits = { context: 3, maxEditLength: maxEdits, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(out, source, before, text, undefined, undefined, limits);
  await printAndExit(patch ?? `more than ${maxEdits} lines differ\n`, 1);
}

/**
 * Writes the file if its text differs.
 *
 * @returns whether it was written
 * @throws StartupError for a file that was not generated
 */
async function writeOut({ text }: Generated, out: string): Promise<boolean> {
  const before = await readOut(out);
  if (before === text) return false;
  const [head] = text.split('\n', 1);
  if (before !== undefined && before.trim() !== '' && before.split('\n', 1)[0] !== head) {
    throw new StartupError(
      `${out} was not written by tandem codegen: remove it, or choose another file for --out`,
    );
  }
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, text);
  return true;
}

function outcomeOf({ methods }: Generated, out: string, isNew: boolean): string {
  return isNew
    ? `wrote ${out}: ${counted(methods, 'procedure')}`
    : `${out} is current: ${counted(methods, 'procedure')}`;
}

/** The file's text with the line ends that generated text has: version control may have changed them. */
async function readOut(out: string): Promise<string | undefined> {
  try {
    // Reading a device may never end.
    if (!(await stat(out)).isFile()) {
      throw new StartupError(`${out} is no file: name one, or leave --out away to print the text`);
    }
    return (await readFile(out, 'utf8')).replaceAll('\r\n', '\n');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Updates the file from a document. Resolves in any case. @param read undefined: the document has not changed */
type Update = (read: () => Promise<unknown>) => Promise<void>;

/**
 * Keeps `out` current until a signal ends the process. A broken source is reported once, and read again when it changes.
 */
async function keepCurrent(source: string, out: string, options: CodegenOptions): Promise<void> {
  if (source === '-') throw new StartupError('--watch: what comes from stdin comes once');
  let written: string | undefined;
  let failure: string | undefined;
  let undeclared: string | undefined;
  const update: Update = async (read) => {
    try {
      const document = await read();
      const recovered = failure !== undefined;
      failure = undefined;
      if (document === undefined) return;
      const generated = generateFrom(source, document);
      if (generated.text === written && !recovered) return;
      const isNew = await writeOut(generated, out);
      written = generated.text;
      undeclared = printUndeclared(generated, undeclared);
      process.stdout.write(`${outcomeOf(generated, out, isNew)}\n`);
    } catch (error) {
      const message = messageOf(error);
      if (message !== failure) printFailure(message);
      failure = message;
    }
  };
  if (kindOf(source) === 'url') await poll(source, options, update);
  else await watchFiles(source, out, options, update);
}

async function poll(url: string, options: CodegenOptions, update: Update): Promise<void> {
  let etag: string | undefined;
  for (;;) {
    await update(async () => {
      const document = await fetchDocument(url, 'openrpc', options, etag);
      etag = document?.etag ?? etag;
      return document && toOpenRpc(document.value, url);
    });
    await new Promise((wake) => setTimeout(wake, options.intervalMs));
  }
}

/** One save may be several events: the source is read when no event has come for this long. */
const settleMs = 50;

async function watchFiles(
  source: string,
  out: string,
  options: CodegenOptions,
  update: Update,
): Promise<void> {
  const { watch } = await import('chokidar');
  const { describeModule } = await import('./module-source.ts');
  // Folders are watched instead of files, so that a file that is new, or was broken at first, is seen too.
  const watcher = watch(dirname(resolve(source)), { ignoreInitial: true, depth: 0 });
  const read = async (): Promise<unknown> => {
    if (kindOf(source) === 'document') return readOpenRpc(source, options);
    const { document, files } = await describeModule(source, 'openrpc', 1);
    watcher.add([...new Set(files.map((file) => dirname(file)))]);
    return document;
  };
  let running: Promise<void> = Promise.resolve();
  const readAgain = (): void => {
    running = running.then(() => update(read));
  };
  let timer: NodeJS.Timeout | undefined;
  watcher.on('all', (_event, path) => {
    if (resolve(path) === resolve(out)) return; // this command wrote it
    clearTimeout(timer);
    timer = setTimeout(readAgain, settleMs);
  });
  watcher.on('error', (error) => printFailure(`watching ${source} failed: ${String(error)}`));
  await new Promise<void>((ready) => {
    watcher.once('ready', ready);
  });
  readAgain();
  await running;
}

/**
 * `tandem serve --codegen`: writes the file of the procedures that are served, and again after each reload.
 *
 * @param isFirst the service starts: a file that cannot be written is a mistake. Otherwise the log says so, and it serves on
 * @throws StartupError at the start alone
 */
export async function keepServed(
  router: AnyRouter,
  out: string,
  log: Log,
  isFirst = true,
): Promise<void> {
  const write = async (): Promise<void> => {
    const generated = generateFrom('the service', openRpcOf(tableOf(router)));
    if (!(await writeOut(generated, out))) return;
    log.info({ event: 'codegen-written' }, outcomeOf(generated, out, true));
  };
  const writeAgain = (): Promise<void> =>
    write().catch((error: unknown) =>
      log.error({ event: 'codegen-failed' }, `${out} is not current: ${messageOf(error)}`),
    );
  await (isFirst ? write() : writeAgain());
  // One after another, so that the last one written is of the last reload.
  let writing: Promise<void> = Promise.resolve();
  onReplaced(router, () => {
    writing = writing.then(writeAgain);
  });
}
