import { Worker } from 'node:worker_threads';
import { hidden } from '../../core/base/escape.ts';
import { layout, mostSuspects, runningCode } from '../../core/base/running-code.ts';
import { ownFolders } from '../../core/modules/module-url.ts';
import type { LogLevel } from '../../core/observe/log.ts';
import { expressionLines, stackExpression } from '../../core/workers/stack.ts';
import { guardFile } from './fork-server.ts';

/** Milliseconds that a process may have beyond a short grace, as long as it gives signs of life. */
export const endingMs = 5000;

/** How often the guard looks for its supervisor and at the main thread, and how often the main thread shows that it turns, milliseconds. */
const lookMs = 250;

/** A main thread without a turn for so long stands still, milliseconds. */
const standsStillMs = 1000;

/** A main thread that drains shows a turn within this, milliseconds. */
const turnMs = 1500;

/** How long the main thread may take to show its stack: it does so at once, unless it is in native code. */
const askMs = 250;

/** Plain JavaScript, since the thread has no loader for TypeScript. */
const guard = `
const { writeSync, readFileSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const {
  parent, graceMs, file, buffer, layout, most, lookMs, standsStillMs, turnMs, endingMs, askMs,
  secondLookMs, base, isPretty, expression, expressionLines, ownFolders, hidden,
} = workerData;
let { level } = workerData;
const nobody = new Int32Array(new SharedArrayBuffer(4));
const words = new Int32Array(buffer);
const record = (slot) => layout.headerBytes + (slot - 1) * layout.recordBytes;
const nameOf = (slot) => {
  const bytes = Buffer.from(buffer, record(slot) + 4, layout.recordBytes - 4);
  return bytes.toString('utf8', 0, bytes.indexOf(0));
};
const waiting = () => {
  const names = [];
  for (let slot = 1; record(slot) < buffer.byteLength && names.length < most; slot++) {
    if (words[record(slot) / 4] > 0) names.push(nameOf(slot));
  }
  return names;
};

// What the main thread is in.
const busyMs = () => {
  try {
    const [ran, waited] = readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ');
    return (Number(ran) + Number(waited)) / 1e6;
  } catch {}
};
const isOwn = (line) => line.includes('node:') || ownFolders.some((folder) => line.replace('file://', '').includes(folder));
const framesOf = (text) => {
  const lines = text.split('\\n').slice(expressionLines);
  const last = lines.findLastIndex((line) => !isOwn(line) && !line.includes('(<anonymous>)'));
  return (last === -1 ? lines.filter((line) => !line.includes('node:')) : lines.slice(0, last + 1))
    .map((line) => line.trim().replace(/[?&]gen=\\d+/, '')).join('\\n').slice(0, 3000);
};
const look = (then) => {
  const { Session } = require('node:inspector');
  const session = new Session();
  const busyBefore = busyMs();
  let timer;
  const end = (text) => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    session.disconnect();
    then(text);
  };
  timer = setTimeout(() => {
    const ms = busyMs() - busyBefore;
    const doing = Number.isNaN(ms) ? '' : ms > askMs / 10 ? ', computing' : ', waiting';
    end('no stack: in native code' + doing);
  }, askMs);
  try {
    session.connectToMainThread();
    // The callback takes the error of a session that ends before it is answered, too.
    session.post('Runtime.evaluate', { expression, returnByValue: true, silent: true }, (error, answer) => {
      const text = answer?.result?.value;
      if (error === null) end(typeof text === 'string' ? framesOf(text) : '');
    });
  } catch (error) {
    end('no stack: ' + error.message);
  }
};

// The lines of the log: the main thread can not write them.
const escaped = (text) => text.replace(new RegExp(hidden, 'gu'), (character) =>
  character.split('').map((unit) => '\\\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0')).join(''));
const lineOf = (fields, msg) => {
  const now = new Date();
  if (!isPretty) {
    const line = { level: 'warn', time: now.toISOString(), pid: process.pid, ...base, ...fields, msg };
    return escaped(JSON.stringify(line)) + '\\n';
  }
  const { event, detail, ...others } = fields;
  const time = new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(11, -1);
  const texts = Object.entries(others).map(([name, value]) => ' ' + name + '=' + JSON.stringify(value));
  const frames = detail.split('\\n').map((frame) => '\\n    ' + escaped(frame));
  return '[' + time + '] WARN: ' + msg + escaped(texts.join('')) + frames.join('') + '\\n';
};
const write = (to, text) => {
  const bytes = Buffer.from(text);
  for (let at = 0, tries = 0; at < bytes.length && tries < 20; tries++) {
    try {
      at += writeSync(to, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      Atomics.wait(nobody, 0, 0, 10);
    }
  }
};

let number = 0, beat = 0, turnedAt = 0, lookedAt = 0, isLooking = false, looks = 0, told = '', stack;
const tell = (names, isCertain) => {
  const isNothing = names.length === 0 && stack === undefined;
  const line = isNothing ? '' : JSON.stringify({ names, isCertain, stack });
  if (file === undefined || line === told) return;
  told = line;
  write(file, line + '\\n');
};
const names = () => {
  const slot = words[layout.slot];
  return slot === 0 ? [waiting(), false] : [[nameOf(slot)], true];
};
const lookAtMain = (now) => {
  isLooking = true;
  const standing = beat;
  look((detail) => {
    isLooking = false;
    if (words[layout.beat] !== standing || detail === '') return;
    looks++;
    stack = detail;
    const [who, isCertain] = names();
    tell(who, isCertain);
    if (level === 'silent' || level === 'error') return;
    const ms = Math.round(now - turnedAt);
    const method = who.length === 0 ? {} : who.length === 1 ? { method: who[0] } : { methods: who };
    const msg = 'the main thread stands still for ' + ms + ' ms' +
      (who.length === 0 ? '' : isCertain ? '; it is in ' + who[0] : '; under way there: ' + who.join(', '));
    write(2, lineOf({ event: 'main-thread-stack', ...method, ms, detail }, msg));
  });
};
const turn = () => {
  const now = performance.now();
  if (parent !== undefined && process.ppid !== parent) endOrphan();
  // If this thread was held up, the whole process was: what it would see now is old.
  const isLate = now - lookedAt > 3 * lookMs;
  lookedAt = now;
  if (isLate || words[layout.beat] !== beat) {
    beat = words[layout.beat];
    turnedAt = now;
    looks = 0;
    stack = undefined;
  }
  const standsMs = now - turnedAt;
  const slot = words[layout.slot];
  if (slot !== 0) tell(words[layout.number] === number ? [nameOf(slot)] : [], true);
  else tell(standsMs >= standsStillMs ? waiting() : [], false);
  number = words[layout.number];
  // Before the first beat the process does not serve.
  if (beat === 0 || isLooking) return;
  if ((looks === 0 && standsMs >= standsStillMs - lookMs / 2) || (looks === 1 && standsMs >= secondLookMs)) lookAtMain(now);
};
const endOrphan = () => {
  Atomics.wait(nobody, 0, 0, graceMs - turnMs);
  for (let ms = 0; ms < endingMs; ms += turnMs) {
    const before = words[layout.beat];
    Atomics.wait(nobody, 0, 0, turnMs);
    if (words[layout.beat] === before) break;
  }
  process.kill(process.pid, 'SIGKILL');
};
parentPort.on('message', (message) => {
  if (message.level !== undefined) level = message.level;
  else look((text) => parentPort.postMessage(text));
});
setInterval(turn, lookMs);
`;

export interface GuardOptions {
  /** What a process with a supervisor may have after the supervisor has gone, milliseconds; undefined: there is no supervisor. */
  readonly graceMs: number | undefined;
  /** The supervisor kills a process that stands still for so long, milliseconds; 0: never. */
  readonly watchdogTimeoutMs: number;
  readonly logLevel: LogLevel;
  /** Fields of each line of the log. */
  readonly base: Readonly<Record<string, unknown>>;
}

/**
 * A thread that watches over a server process while its main thread can't: it costs 10 MB, and looks four times a second.
 *
 * It logs the stack of a main thread that stands still: after a second, and after half of the time at which the supervisor
 * kills the process. Code behind an `await` is found by this alone.
 *
 * In a process with a supervisor it also ends the process by SIGKILL when the supervisor has gone and the process has not drained
 * and ended within its grace time. The main thread would see the channel close, but not while it is in an endless loop. Cheaper
 * ways don't work: the threads of procedures can be held up like the main thread; Node can't ask for the kernel's signal
 * at a parent's death, which would leave no time to drain anyway. And it tells the supervisor which procedure has held the
 * main thread for a look or longer: a main thread that is stuck, or dies of memory, can't.
 */
export class Guard {
  readonly #thread: Worker;
  readonly #asked: ((stack: string) => void)[] = [];

  constructor({ graceMs, watchdogTimeoutMs, logLevel, base }: GuardOptions) {
    const isSupervised = graceMs !== undefined;
    this.#thread = new Worker(guard, {
      eval: true,
      workerData: {
        ...(isSupervised && { parent: process.ppid, graceMs, file: guardFile }),
        secondLookMs: watchdogTimeoutMs === 0 ? Number.POSITIVE_INFINITY : watchdogTimeoutMs / 2,
        level: logLevel,
        base,
        isPretty: process.stderr.isTTY,
        buffer: runningCode.buffer,
        layout,
        most: mostSuspects,
        lookMs,
        standsStillMs,
        turnMs,
        endingMs,
        askMs,
        expression: stackExpression,
        expressionLines,
        ownFolders: ownFolders.map((folder) => folder.replace('file://', '')),
        hidden: hidden.source,
      },
      // The guard loads nothing that flags or NODE_OPTIONS load into other threads.
      execArgv: [],
      env: {},
      resourceLimits: {
        maxOldGenerationSizeMb: 16,
        maxYoungGenerationSizeMb: 1,
        codeRangeSizeMb: 2,
      },
    });
    this.#thread.unref();
    // If the thread fails, the process runs without a guard.
    this.#thread.on('error', () => this.#answer('no stack: the guard of the process has failed'));
    this.#thread.on('message', (stack: unknown) => this.#answer(String(stack)));
  }

  /** The process serves: from now on its main thread must turn. To be called once. */
  watch(): void {
    runningCode.beat();
    setInterval(() => runningCode.beat(), lookMs).unref();
  }

  /** The stack of the main thread, as the guard sees it; empty: its event loop waits. */
  look(): Promise<string> {
    return new Promise((resolve) => {
      this.#asked.push(resolve);
      this.#thread.postMessage({});
    });
  }

  setLevel(level: LogLevel): void {
    this.#thread.postMessage({ level });
  }

  #answer(stack: string): void {
    for (const resolve of this.#asked.splice(0)) resolve(stack);
  }
}
