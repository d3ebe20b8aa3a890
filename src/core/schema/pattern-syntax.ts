import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
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

type Syntax = typeof import('@eslint-community/regexpp');

let syntax: Syntax | undefined;

/** Loaded with the first pattern: most programs have none, and importing the package is to load nothing else. */
function loadSyntax(): Syntax {
  syntax ??= createRequire(import.meta.url)('@eslint-community/regexpp') as Syntax;
  return syntax;
}

let parser: RegExpParser | undefined;

/**
 * A valid pattern as a tree.
 *
 * @throws SyntaxError for a syntax that only this Node knows
 */
export function parsePattern(pattern: string): AST.Pattern {
  parser ??= new (loadSyntax().RegExpParser)();
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
function matchedBy(source: string, flags = 'u'): Range[] {
  const expression = new RegExp(`^${source}$`, flags);
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

/** The ranges in order, none of which touches the next. */
function merged(ranges: readonly Range[]): readonly Range[] {
  return complement(complement(ranges));
}

let units: string | undefined;

/**
 * What a part matches with flags other than `u`: by the expression itself, since its rules for case are its own. It knows no
 * characters above 0xffff; those have no other case then.
 */
function matchedWithout(part: Characters, flags: string): readonly Range[] {
  units ??= Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)).join('');
  const runs = units.matchAll(new RegExp(`(?:${part.raw})+`, `g${flags}`));
  const below = Array.from(runs, ({ index, 0: run }): Range => [index, index + run.length - 1]);
  const above = rangesOf(part).flatMap(([from, to]): Range[] =>
    to > 0xffff ? [[Math.max(from, 0x10000), to]] : [],
  );
  return merged([...below, ...above]);
}

function escapedPoint(point: number): string {
  const character = String.fromCodePoint(point);
  if (/[0-9A-Za-z]/.test(character)) return character;
  const hex = point.toString(16);
  return point > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** A class that matches code points, in the syntax of the flag `u`. */
function classOf(ranges: readonly Range[]): string {
  const texts = ranges.map(([from, to]) =>
    from === to ? escapedPoint(from) : `${escapedPoint(from)}-${escapedPoint(to)}`,
  );
  return `[${texts.join('')}]`;
}

/**
 * The pattern that matches with the flag `u` alone what an expression matches with its flags `i` and `s`: JSON Schema has no flags.
 * Each character, class and dot that matches more by them becomes the class of what it matches.
 *
 * @returns undefined: there is none, for the flags `m` and `y`, and for a reference to a group with `i`; an invalid one as it is
 */
export function patternWithoutFlags({ source, flags }: RegExp): string | undefined {
  const changing = flags.replace(/[dguv]/g, '');
  if (changing === '') return source;
  const pattern = unicodePattern(source);
  if (expressionOf(pattern) === undefined) return source;
  if (/[^is]/.test(changing)) return undefined;
  const isUnicode = /[uv]/.test(flags);
  let [text, copiedTo, isPossible] = ['', 0, true];
  const onCharacters = (part: Characters): void => {
    // What lies in a class is a part of it.
    if (part.start < copiedTo) return;
    const ranges = cached(known, `${part.raw}/${changing}${isUnicode}`, () =>
      isUnicode ? matchedBy(part.raw, `u${changing}`) : matchedWithout(part, changing),
    );
    const isSame = isDeepStrictEqual(ranges, merged(rangesOf(part)));
    text += pattern.slice(copiedTo, part.start) + (isSame ? part.raw : classOf(ranges));
    copiedTo = part.end;
  };
  loadSyntax().visitRegExpAST(parsePattern(pattern), {
    onCharacterEnter: onCharacters,
    onCharacterClassEnter: onCharacters,
    onCharacterSetEnter: onCharacters,
    onBackreferenceEnter: () => {
      isPossible = !changing.includes('i');
    },
  });
  return isPossible ? text + pattern.slice(copiedTo) : undefined;
}
