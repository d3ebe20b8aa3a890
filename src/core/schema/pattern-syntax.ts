import { createRequire } from 'node:module';
import type { AST, RegExpParser } from '@eslint-community/regexpp';
import { cached } from '../base/cached.ts';
import { messageOf } from '../base/message-of.ts';

/** JSON Schema reads patterns with the flag `u`, where an escape that is not needed is a fault. */

/** The expression of a pattern; undefined: it is none. */
export function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** What is wrong with a pattern, and what to write instead where that is known; undefined: nothing. */
export function unicodeFault(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    const plain = unicodePattern(pattern);
    const hint = plain === pattern ? '' : `; write ${JSON.stringify(plain)}`;
    return `the pattern ${JSON.stringify(pattern)} is no regular expression with the flag u: ${messageOf(error)}${hint}`;
  }
}

/** A pattern as the flag `u` takes it, if that is known; else the pattern itself. */
export function unicodePattern(pattern: string): string {
  if (expressionOf(pattern) !== undefined) return pattern;
  const plain = withNeededEscapes(pattern);
  return expressionOf(plain) === undefined ? pattern : plain;
}

/**
 * With the flag `u` a sign that means nothing may not be escaped: `\-` becomes `-`, but for that of a class. A bracket that closes
 * nothing has to be, and the hyphen after `\w` and its like in a class.
 */
function withNeededEscapes(pattern: string): string {
  let isInClass = false;
  return pattern.replace(
    /\\([dDsSwW])-(?!\])|\\(.)|[[\]]/gs,
    (whole, set?: string, escaped?: string) => {
      if (set !== undefined) return isInClass ? `\\${set}\\-` : whole;
      if (escaped === undefined) {
        if (whole === ']' && !isInClass) return '\\]';
        isInClass = whole === '[';
        return whole;
      }
      const isNeeded = /[\w^$\\.*+?()[\]{}|/]/.test(escaped) || (isInClass && escaped === '-');
      return isNeeded ? whole : escaped;
    },
  );
}

let parser: RegExpParser | undefined;

/** Loaded with the first pattern: most programs have none, and importing the package is to load nothing else. */
function loadParser(): RegExpParser {
  const load = createRequire(import.meta.url);
  const { RegExpParser: Parser } = load('@eslint-community/regexpp') as {
    readonly RegExpParser: new () => RegExpParser;
  };
  return new Parser();
}

/**
 * A valid pattern as a tree.
 *
 * @throws SyntaxError for a syntax that only this Node knows
 */
export function parsePattern(pattern: string): AST.Pattern {
  parser ??= loadParser();
  return parser.parsePattern(pattern, 0, pattern.length, { unicode: true });
}

/** Code points from the first to the second, both included. */
export type Range = readonly [from: number, to: number];

export const lastPoint = 0x10ffff;
export const anyPoint: readonly Range[] = [[0, lastPoint]];

const digits = [48, 57];

/** What a dot does not match, and what the letters after a backslash stand for. */
const sets = {
  any: pairs([10, 10, 13, 13, 0x2028, 0x2029]),
  digit: pairs(digits),
  word: pairs([...digits, 65, 90, 95, 95, 97, 122]),
  space: pairs([
    9, 13, 32, 32, 160, 160, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f,
    0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff,
  ]),
};

function pairs(points: readonly number[]): Range[] {
  return points.flatMap((from, at): Range[] =>
    at % 2 === 0 ? [[from, points[at + 1] ?? from]] : [],
  );
}

type Characters = AST.Character | AST.CharacterSet | AST.CharacterClass;

const known = new Map<string, readonly Range[]>();

/** The characters that a part of a pattern matches: always one list for one text, since some are long. */
export function rangesOf(part: Characters): readonly Range[] {
  return cached(known, part.raw, () => rangesIn(part));
}

/** Within a class a dot is a dot, so that the text of an element is no key. */
function rangesIn(part: Characters): readonly Range[] {
  switch (part.type) {
    case 'Character':
      return [[part.value, part.value]];
    case 'CharacterSet': {
      if (part.kind === 'property') return cached(known, part.raw, () => matchedBy(part.raw));
      const isNegated = part.kind === 'any' || part.negate;
      return isNegated ? complement(sets[part.kind]) : sets[part.kind];
    }
    case 'CharacterClass': {
      const ranges = part.elements.flatMap((element) => {
        if (element.type === 'CharacterClassRange')
          return [[element.min.value, element.max.value] as const];
        // Only the flag v has others.
        const isOne = element.type === 'Character' || element.type === 'CharacterSet';
        return isOne ? rangesIn(element) : anyPoint;
      });
      return part.negate ? complement(ranges) : ranges;
    }
  }
}

/** What a class such as `\p{L}` matches in the Unicode of this Node. It takes some 50 ms. */
function matchedBy(source: string): Range[] {
  const expression = new RegExp(`^${source}$`, 'u');
  const found: [from: number, to: number][] = [];
  for (let point = 0; point <= lastPoint; point += 1) {
    if (!expression.test(String.fromCodePoint(point))) continue;
    const last = found.at(-1);
    if (last?.[1] === point - 1) last[1] = point;
    else found.push([point, point]);
  }
  return found;
}

function complement(ranges: readonly Range[]): Range[] {
  const found: Range[] = [];
  let next = 0;
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= lastPoint) found.push([next, lastPoint]);
  return found;
}
