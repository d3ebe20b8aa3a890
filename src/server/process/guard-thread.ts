/**
 * The thread of {@link Guard}. It loads nothing but Node: what it needs of this package comes in its data. Of other modules it
 * may import types only.
 */
import { readFileSync, writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';
import type { layout as Layout, Suspects } from '../../core/base/running-code.ts';
import type { LogLevel } from '../../core/observe/log.ts';

export interface GuardData {
  /** undefined: there is no supervisor. */
  readonly supervisor: GuardedBy | undefined;
  /** After the first stack there is a second one when the main thread has stood still for so long. */
  readonly secondLookMs: number;
  readonly level: LogLevel;
  /** Fields of each line of the log. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly isPretty: boolean;
  /** That of `RunningCode`. */
  readonly buffer: SharedArrayBuffer;
  readonly layout: typeof Layout;
  readonly maxSuspects: number;
  readonly lookMs: number;
  readonly endingMs: number;
  /** By Node's permission model, which the thread itself may not see. */
  readonly mayInspect: boolean;
  readonly expression: string;
  readonly expressionLines: number;
  /** Folders of this package, as stacks name them. */
  readonly ownFolders: readonly string[];
  readonly hidden: RegExp;
}

export interface GuardedBy {
  readonly pid: number;
  /** The file descriptor by which the supervisor is told. */
  readonly file: number;
  /** It tells the lines from what procedures write there. */
  readonly key: string;
  /** What the process may have after the supervisor has gone, milliseconds. */
  readonly graceMs: number;
}

/** What the supervisor is told, as JSON behind the key, one line. Without names no procedure holds the main thread. */
export interface GuardLine extends Suspects {
  /** Of a main thread that stands still. */
  readonly stack?: string | undefined;
}

/** A main thread without a turn for so long stands still, milliseconds. */
const standsStillMs = 1000;

/** A main thread that drains shows a turn within this, milliseconds. */
const turnMs = 1500;

/** How long the main thread may take to show its stack: it does so at once, unless it is in native code or gets no processor. */
const askMs = 250;

/** So many times as long while others have the processors. */
const maxAsks = 10;

const data = workerData as GuardData;
const { supervisor, buffer, layout, lookMs } = data;
let { level } = data;
const words = new Int32Array(buffer);
const nobody = new Int32Array(new SharedArrayBuffer(4));

function word(index: number): number {
  return words[index] as number;
}

function pause(ms: number): void {
  Atomics.wait(nobody, 0, 0, ms);
}

/** Where the record of a name begins, bytes. */
function record(slot: number): number {
  return layout.headerBytes + (slot - 1) * layout.recordBytes;
}

function nameOf(slot: number): string {
  const bytes = Buffer.from(buffer, record(slot) + 4, layout.recordBytes - 4);
  return bytes.toString('utf8', 0, bytes.indexOf(0));
}

/** Whose code may hold the main thread: what runs there, or else all that wait behind an `await`. */
function suspects(): Suspects {
  const running = word(layout.slot);
  if (running !== 0) return { names: [nameOf(running)], isCertain: true };
  const names: string[] = [];
  for (let slot = 1; record(slot) < buffer.byteLength && names.length < data.maxSuspects; slot++)
    if (word(record(slot) / 4) > 0) names.push(nameOf(slot));
  return { names, isCertain: false };
}

/** What Linux tells of the main thread in a file; empty: the system does not tell. */
function mainThread(file: 'schedstat' | 'stat'): string {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** How long the main thread has run, by Linux; NaN: the system does not tell. */
function ranMs(): number {
  return Number.parseInt(mainThread('schedstat'), 10) / 1e6;
}

/** Whether the main thread runs, or would if it had a processor. Behind the name, which may hold parentheses, is its state. */
function isRunnable(): boolean {
  return /\) R [^)]*$/.test(mainThread('stat'));
}

function isOwn(line: string): boolean {
  const plain = line.replace('file://', '');
  return line.includes('node:') || data.ownFolders.some((folder) => plain.includes(folder));
}

function framesOf(text: string): string {
  const lines = text.split('\n').slice(data.expressionLines);
  const last = lines.findLastIndex((line) => !isOwn(line) && !line.includes('(<anonymous>)'));
  const kept =
    last === -1 ? lines.filter((line) => !line.includes('node:')) : lines.slice(0, last + 1);
  const plain = kept.map((line) => line.trim().replace(/[?&]gen=\d+/, ''));
  return plain.join('\n').slice(0, 3000);
}

/** Resolves with the stack of the main thread, or why there is none; empty: its event loop waits. */
function look(): Promise<string> {
  return new Promise((resolve) => {
    const session = new Session();
    const ranBefore = ranMs();
    let asks = 0;
    const judge = (): void => {
      const isComputing = ranMs() - ranBefore > askMs / 10;
      const lacksProcessor = !isComputing && isRunnable();
      if (lacksProcessor && ++asks < maxAsks) timer = setTimeout(judge, askMs);
      else if (lacksProcessor) end('no stack: it waits for a processor');
      else if (Number.isNaN(ranBefore)) end('no stack: in native code');
      else end(`no stack: in native code, ${isComputing ? 'computing' : 'waiting'}`);
    };
    let timer = setTimeout(judge, askMs);
    const end = (text: string): void => {
      clearTimeout(timer);
      resolve(text);
      session.disconnect();
    };
    try {
      // `connectToMainThread` would end the process (Node 20).
      if (!data.mayInspect) throw new Error('this process may not use the inspector');
      session.connectToMainThread();
      const evaluation = { expression: data.expression, returnByValue: true, silent: true };
      // The callback takes the error of a session that ends before it is answered, too.
      session.post('Runtime.evaluate', evaluation, (error, answer) => {
        // Node's types do not know the answer of a method that they get with its params.
        const result = answer as { readonly result?: { readonly value?: unknown } } | undefined;
        const text = result?.result?.value;
        if (error === null) end(typeof text === 'string' ? framesOf(text) : '');
      });
    } catch (error) {
      end(`no stack: ${(error as Error).message}`);
    }
  });
}

function escaped(text: string): string {
  return text.replace(data.hidden, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** A line of the log, which the main thread can not write. */
function lineOf(fields: Readonly<Record<string, unknown>>, detail: string, msg: string): string {
  const now = new Date();
  const event = 'main-thread-stack';
  if (!data.isPretty) {
    const head = { level: 'warn', time: now.toISOString(), pid: process.pid, ...data.base, event };
    return `${escaped(JSON.stringify({ ...head, ...fields, detail, msg }))}\n`;
  }
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  const texts = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  const frames = detail.split('\n').map((frame) => `\n    ${escaped(frame)}`);
  const time = local.toISOString().slice(11, -1);
  return `[${time}] WARN: ${msg}${escaped(texts.join(''))}${frames.join('')}\n`;
}

/** Gives up on a reader that stands still. */
function write(to: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0, tries = 0; at < bytes.length && tries < 20; tries++) {
    try {
      at += writeSync(to, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      pause(10);
    }
  }
}

let number = 0;
let beat = 0;
let turnedAt = 0;
let lookedAt = 0;
let isLooking = false;
let looks = 0;
const nothing: Suspects = { names: [], isCertain: false };
let told = JSON.stringify(nothing);
let stack: string | undefined;

function tell(found: Suspects): void {
  const line: GuardLine = { ...found, stack };
  const text = JSON.stringify(line);
  if (supervisor === undefined || text === told) return;
  told = text;
  write(supervisor.file, `${supervisor.key}${text}\n`);
}

async function lookAtMain(now: number): Promise<void> {
  isLooking = true;
  const standing = beat;
  const detail = await look();
  isLooking = false;
  if (word(layout.beat) !== standing || detail === '') return;
  looks++;
  stack = detail;
  const found = suspects();
  tell(found);
  if (level === 'silent' || level === 'error') return;
  const { names, isCertain } = found;
  const [method] = names;
  const ms = Math.round(now - turnedAt);
  const who = method === undefined ? {} : names.length === 1 ? { method } : { methods: names };
  const where = isCertain ? `; it is in ${method}` : `; under way there: ${names.join(', ')}`;
  const text = `the main thread stands still for ${ms} ms${method === undefined ? '' : where}`;
  write(2, lineOf({ ...who, ms }, detail, text));
}

function tick(): void {
  const now = performance.now();
  if (supervisor !== undefined && process.ppid !== supervisor.pid) endOrphan(supervisor);
  // If this thread was held up, the whole process was: what it would see now is old.
  const isLate = now - lookedAt > 3 * lookMs;
  lookedAt = now;
  if (isLate || word(layout.beat) !== beat) {
    beat = word(layout.beat);
    turnedAt = now;
    looks = 0;
    stack = undefined;
  }
  const standsMs = now - turnedAt;
  // Synchronous code counts if it has run since the look before.
  const isHeld =
    word(layout.slot) === 0 ? standsMs >= standsStillMs : word(layout.number) === number;
  tell(isHeld ? suspects() : nothing);
  number = word(layout.number);
  // Before the first beat the process does not serve.
  if (beat === 0 || isLooking) return;
  const isFirst = looks === 0 && standsMs >= standsStillMs - lookMs / 2;
  if (isFirst || (looks === 1 && standsMs >= data.secondLookMs)) void lookAtMain(now);
}

function endOrphan({ graceMs }: GuardedBy): void {
  pause(graceMs - turnMs);
  for (let ms = 0; ms < data.endingMs; ms += turnMs) {
    const before = word(layout.beat);
    pause(turnMs);
    if (word(layout.beat) === before) break;
  }
  process.kill(process.pid, 'SIGKILL');
}

/** From {@link Guard}: a level of the log, or undefined, which asks for the stack of the main thread. */
parentPort?.on('message', (message: LogLevel | undefined) => {
  if (message === undefined) void look().then((text) => parentPort?.postMessage(text));
  else level = message;
});
setInterval(tick, lookMs);
