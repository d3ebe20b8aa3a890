import type { Affinity } from '../../procedures/affinity.ts';
import { type Call, textBetween } from '../call.ts';

/** Characters of a key that count. */
const keyLength = 64;

/**
 * The key of a call, of the param that its procedure names; undefined: it has none. Params that are not parsed are searched for the
 * name, which takes a tenth of the time of parsing. A text of that kind elsewhere in the params is taken for the param: that costs
 * a worker's cache a miss, and nothing else.
 */
export function keyOfParam(
  { params, source, start, end }: Pick<Call, 'params' | 'source' | 'start' | 'end'>,
  { param = '', mark }: Affinity,
): string | undefined {
  if (typeof params !== 'symbol') return keyOfValue(params, param);
  if (source === undefined || start < 0) return undefined;
  if (typeof source === 'string') {
    if (source[start] !== '{') return undefined;
    const text = source.slice(start, end);
    const at = text.indexOf(mark);
    return at === -1 ? undefined : keyOfText(text, at + mark.length);
  }
  const bytes = Buffer.from(source.buffer, source.byteOffset + start, end - start);
  const at = bytes[0] === 0x7b ? bytes.indexOf(mark) : -1;
  if (at === -1) return undefined;
  const from = at + Buffer.byteLength(mark);
  return keyOfText(textBetween(bytes, from, Math.min(bytes.length, from + 2 * keyLength)), 0);
}

function keyOfValue(params: unknown, param: string): string | undefined {
  if (typeof params !== 'object' || params === null || !Object.hasOwn(params, param))
    return undefined;
  const value = (params as Record<string, unknown>)[param];
  if (typeof value === 'string') return value.slice(0, keyLength);
  return typeof value === 'number' ? String(value) : undefined;
}

/** A whole number or the beginning of one, a text without its escapes: what is read in 64 characters. */
const value = /[ \t\r\n]*(?:"([^"]{0,64})|(-?\d[\w.+-]{0,62}))/y;

function keyOfText(text: string, at: number): string | undefined {
  value.lastIndex = at;
  const match = value.exec(text);
  return match?.[1] ?? match?.[2];
}

/**
 * The home of a key, by rendezvous hashing (Thaler and Ravishankar, 1998): the home with the highest hash of both. If the number of
 * homes changes by one, only the keys of that home move.
 */
export function homeOf(key: string, homes: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  let best = 0;
  let highest = -1;
  for (let home = 0; home < homes; home++) {
    const score = mixed(hash ^ Math.imul(home + 1, 0x9e3779b1));
    if (score <= highest) continue;
    highest = score;
    best = home;
  }
  return best;
}

/** The last step of MurmurHash3: each bit of its input changes half of the bits of its output. */
function mixed(bits: number): number {
  let h = bits ^ (bits >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
