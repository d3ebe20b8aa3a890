import { matches, wordOf } from '../codes.ts';
import { insideArray, insideObject, Step, table as states } from './grammar.ts';

/** The characters of a text as UTF-16 code units, or as the bytes of its UTF-8. */
export type Units = Uint16Array | Uint8Array;

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

// Copied into constants of this module: the engine may look an import up at each use, which is at each character here.
const table = states;
const { stop, open, close } = Step;
const { string: inString, after: afterString, value: beforeNumber } = insideArray;

/** The `after` state of each array and object that is open. The option maxDepth allows at most 1000 levels. */
const stack = new Uint8Array(1024);

/** A code unit above Latin-1 has the column of 255. */
function next(state: number, unit: number): number {
  return table[(state << 8) | (unit < 0xff ? unit : 0xff)] as number;
}

/** Index of the first unit from `start` that is not JSON white space. */
export function skipBlanks(units: Units, start: number, end: number): number {
  let i = start;
  while (i < end) {
    const unit = units[i] as number;
    if (unit > 0x20 || (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09)) break;
    i++;
  }
  return i;
}

/**
 * Index after the JSON value that starts at `start`; -1: there is none, or it nests deeper than `maxDepth`.
 * It looks at each unit once and creates no objects. `JSON.parse`, which creates them, takes up to a hundred
 * times as long for arrays of small objects.
 */
export function endOfValue(units: Units, start: number, end: number, maxDepth: number): number {
  if (start >= end) return -1;
  switch (units[start]) {
    case QUOTE:
      return endOfString(units, start, end);
    case OPEN_BRACKET:
    case OPEN_BRACE:
      return endOfBrackets(units, start, end, maxDepth);
    case 0x74:
      return endOfWord(units, start, end, trueWord);
    case 0x66:
      return endOfWord(units, start, end, falseWord);
    case 0x6e:
      return endOfWord(units, start, end, nullWord);
    default:
      return endOfNumber(units, start, end);
  }
}

/** Index after the string whose opening quote stands at `start`; -1: it is not valid, or does not end. */
export function endOfString(units: Units, start: number, end: number): number {
  let state = inString;
  for (let i = start + 1; i < end; i++) {
    state = next(state, units[i] as number);
    if (state === afterString) return i + 1;
    if (state === stop) return -1;
  }
  return -1;
}

function endOfBrackets(units: Units, start: number, end: number, maxDepth: number): number {
  const { opened, after } = units[start] === OPEN_BRACKET ? insideArray : insideObject;
  return walk(units, start + 1, end, maxDepth, opened, after);
}

/**
 * Index after the object around `start`, where the name of its next member stands; -1: the object is not valid,
 * does not end, or nests deeper than `maxDepth`.
 *
 * @param maxDepth most levels of the object, itself included
 */
export function endOfObject(units: Units, start: number, end: number, maxDepth: number): number {
  return walk(units, start, end, maxDepth, insideObject.name, insideObject.after);
}

/** Walks through the table to the end of the array or object that the walk begins in. */
function walk(
  units: Units,
  start: number,
  end: number,
  maxDepth: number,
  from: number,
  behindValue: number,
): number {
  if (maxDepth < 1) return -1;
  let state = from;
  let after = behindValue;
  let depth = 1;
  for (let i = start; i < end; i++) {
    const unit = units[i] as number;
    const to = next(state, unit);
    if (to < stop) {
      state = to;
    } else if (to === close) {
      if (--depth === 0) return i + 1;
      after = stack[depth] as number;
      state = after;
    } else if (to === open && depth < maxDepth) {
      stack[depth++] = after;
      const inside = unit === OPEN_BRACKET ? insideArray : insideObject;
      after = inside.after;
      state = inside.opened;
    } else {
      return -1;
    }
  }
  return -1;
}

const isInNumber = markOf(insideArray.number);
const mayEnd = markOf(insideArray.wholeNumber);

function markOf(states: readonly number[]): Uint8Array {
  const mark = new Uint8Array(0x100);
  for (const state of states) mark[state] = 1;
  return mark;
}

function endOfNumber(units: Units, start: number, end: number): number {
  let state = beforeNumber;
  let i = start;
  for (; i < end; i++) {
    const to = next(state, units[i] as number);
    if (isInNumber[to] !== 1) break;
    state = to;
  }
  return mayEnd[state] === 1 ? i : -1;
}

const trueWord = wordOf('true');
const falseWord = wordOf('false');
const nullWord = wordOf('null');

function endOfWord(units: Units, start: number, end: number, word: Uint16Array): number {
  const after = start + word.length;
  return after <= end && matches(units, start, word) ? after : -1;
}
