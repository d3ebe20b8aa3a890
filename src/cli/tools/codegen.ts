import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Generated, generate } from '../../client/codegen/generate.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import type { Log } from '../../core/observe/log.ts';
import { openRpcOf } from '../../core/procedures/document/openrpc.ts';
import { type AnyRouter, onReplaced, tableOf } from '../../core/procedures/router.ts';
import { undeclaredResults } from '../../core/service/servable.ts';
import { printAndExit, printFailure } from '../exit.ts';
import { countOf } from '../output.ts';
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

async function compare({ text, methods }: Generated, source: string, out: string): Promise<void> {
  const before = await readOut(out);
  if (before === text) await printAndExit(`${out} is current: ${countOf(methods)}\n`);
  const fix = `run tandem codegen ${source} --out ${out}`;
  if (before === undefined) throw new StartupError(`${out} does not exist: ${fix}`);
  printFailure(`${out} has drifted from ${source}: ${fix}`);
  const diff = diffLines(before, text);
  await printAndExit(`--- ${out}\n+++ ${source}\n${diff}\n`, 1);
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
  return isNew ? `wrote ${out}: ${countOf(methods)}` : `${out} is current: ${countOf(methods)}`;
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

const context = 3;
/** Most edits to search for: texts that differ in more lines have little in common. */
const maxEdits = 1500;
/** Most lines of the diff. */
const maxLines = 400;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/**
 * The difference from `before` to `after` as a unified diff; '' if there is none. Each hunk names the declaration
 * that its first change belongs to.
 */
export function diffLines(before: string, after: string): string {
  if (before === after) return '';
  const lines = edits(before.split('\n'), after.split('\n'));
  const output = hunksOf(lines).flatMap((hunk) => hunkText(lines, hunk));
  const more = output.length - maxLines;
  return more > 0
    ? [...output.slice(0, maxLines), `... and ${more} more lines`].join('\n')
    : output.join('\n');
}

function edits(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start])
    start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  return [
    ...marked(' ', before.slice(0, start)),
    ...(shortest(a, b) ?? [...marked('-', a), ...marked('+', b)]),
    ...marked(' ', before.slice(before.length - end)),
  ];
}

function marked(mark: Line['mark'], texts: readonly string[]): Line[] {
  return texts.map((text) => ({ mark, text }));
}

/** Takes the line `x` of the first text away (-), or adds the line `y` of the second one before it (+). */
interface Edit {
  readonly mark: '-' | '+';
  readonly x: number;
  readonly y: number;
  readonly before: Edit | undefined;
}

/** Myers' shortest edit script of two texts that begin with different lines; undefined if it has more than `maxEdits` edits. */
function shortest(a: readonly string[], b: readonly string[]): Line[] | undefined {
  // By the diagonal k = x - y: how far scripts have come in the first text, and their last edit.
  const furthest = new Map<number, { readonly x: number; readonly edit: Edit | undefined }>();
  const none = { x: -1, edit: undefined };
  furthest.set(0, { x: 0, edit: undefined });
  for (let count = 1; count <= Math.min(maxEdits, a.length + b.length); count += 1) {
    for (let k = -count; k <= count; k += 2) {
      const [left, right] = [furthest.get(k - 1) ?? none, furthest.get(k + 1) ?? none];
      const adds = k === -count || (k !== count && left.x < right.x);
      const { x: fromX, edit: before } = adds ? right : left;
      let x = adds ? fromX : fromX + 1;
      const edit: Edit = { mark: adds ? '+' : '-', x: fromX, y: adds ? x - k - 1 : x - k, before };
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest.set(k, { x, edit });
      if (x >= a.length && x - k >= b.length) return linesOf(edit, a, b);
    }
  }
  return undefined;
}

/** All lines of both texts: the edited ones, and those that stay. */
function linesOf(last: Edit, a: readonly string[], b: readonly string[]): Line[] {
  const lines: Line[] = [];
  let end = a.length;
  for (let edit: Edit | undefined = last; edit !== undefined; edit = edit.before) {
    const { mark, x, y } = edit;
    const first = mark === '-' ? x + 1 : x;
    while (end > first) lines.push({ mark: ' ', text: a[--end] ?? '' });
    lines.push({ mark, text: (mark === '-' ? a[x] : b[y]) ?? '' });
    end = x;
  }
  return [...marked(' ', a.slice(0, end)), ...lines.reverse()];
}

interface Hunk {
  readonly start: number;
  end: number;
}

function hunksOf(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const [index, { mark }] of lines.entries()) {
    if (mark === ' ') continue;
    const last = hunks.at(-1);
    if (last !== undefined && index - context <= last.end) last.end = index + context + 1;
    else hunks.push({ start: Math.max(0, index - context), end: index + context + 1 });
  }
  return hunks;
}

function hunkText(lines: readonly Line[], { start, end }: Hunk): string[] {
  const first = lines.slice(start, end).findIndex(({ mark }) => mark !== ' ') + start;
  const rows = lines.slice(start, end).map(({ mark, text }) => `${mark}${text}`.trimEnd());
  return [`@@ ${declarationAt(lines, first)} @@`, ...rows];
}

/** The procedure or the type that a line belongs to. */
function declarationAt(lines: readonly Line[], index: number): string {
  for (let at = index; at >= 0; at -= 1) {
    const text = lines[at]?.text ?? '';
    const member = /^ {2}('.*'|[\w$]+): \{$/.exec(text);
    if (member !== null) return member[1] ?? '';
    const declared = /^export (?:interface|type) ([\w$]+)/.exec(text);
    if (declared !== null) return declared[1] ?? '';
  }
  return 'the head of the file';
}
