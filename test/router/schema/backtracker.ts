import fc from 'fast-check';

/** Characters, which are code points. */
type Text = readonly string[];

/** A part of a generated pattern: its text, and how a backtracking matcher goes through it. */
export interface Part {
  /** The groups in it, in the order of the text. Only the first of a pattern captures; `\1` refers to it. */
  readonly groups: readonly symbol[];
  readonly isChoice?: true;
  textIn(first: symbol | undefined): string;
  /** Calls `next` with each place where it may end, until that is true. */
  match(search: Backtracker, at: number, way: 1 | -1, next: (at: number) => boolean): boolean;
}

/** Characters of one and of two units, and half of a pair. */
export const alphabet = ['a', 'b', '-', '😀', '\ud83d'];

const leaf = (text: string, match: Part['match']): Part => ({
  groups: [],
  textIn: () => text,
  match,
});

const ones = [
  ['a', 'a'],
  ['b', 'b'],
  ['-', '-'],
  ['😀', '😀'],
  ['.', 'ab-😀\ud83d'],
  ['\\w', 'ab'],
  ['[^b]', 'a-😀\ud83d'],
  ['[a-b]', 'ab'],
  ['\\p{L}', 'ab'],
  ['[\\ud83d]', '\ud83d'],
].map(([text = '', points = '']) =>
  leaf(text, (search, at, way, next) => {
    const point = search.text[way === 1 ? at : at - 1];
    if (point === undefined || !new Set(points).has(point)) return false;
    search.step();
    return next(at + way);
  }),
);

const isWord = (point: string | undefined): boolean => point === 'a' || point === 'b';
const start = leaf('^', (_search, at, _way, next) => at === 0 && next(at));
const end = leaf('$', ({ text }, at, _way, next) => at === text.length && next(at));
const boundary = leaf(
  '\\b',
  ({ text }, at, _way, next) => isWord(text[at - 1]) !== isWord(text[at]) && next(at),
);

/** Without a group there is nothing to refer to. */
const again: Part = {
  groups: [],
  textIn: (first) => (first === undefined ? '(?!)' : '\\1'),
  match: (search, at, way, next) => {
    if (search.first === undefined) return false;
    const same = search.captured ?? [];
    const from = way === 1 ? at : at - same.length;
    if (from < 0 || same.some((point, index) => search.text[from + index] !== point)) return false;
    for (let read = 0; read < same.length; read += 1) search.step();
    return next(at + way * same.length);
  },
};

const sequence = (parts: readonly Part[]): Part => ({
  groups: parts.flatMap(({ groups }) => groups),
  textIn: (first) =>
    parts
      .map((part) => (part.isChoice ? `(?:${part.textIn(first)})` : part.textIn(first)))
      .join(''),
  match: (search, at, way, next) => {
    const ordered = way === 1 ? parts : [...parts].reverse();
    const from = (index: number, place: number): boolean => {
      const part = ordered[index];
      if (part === undefined) return next(place);
      return part.match(search, place, way, (to) => from(index + 1, to));
    };
    return from(0, at);
  },
});

const choice = (parts: readonly Part[]): Part => ({
  groups: parts.flatMap(({ groups }) => groups),
  isChoice: true,
  textIn: (first) => parts.map((part) => part.textIn(first)).join('|'),
  match: (search, at, way, next) => parts.some((part) => part.match(search, at, way, next)),
});

function repeat(body: Part, [least, most]: readonly [number, number], isLazy: boolean): Part {
  const after =
    (done: number): Part['match'] =>
    (search, at, way, next) => {
      const once = (): boolean => {
        if (done >= most) return false;
        const before = search.captured;
        // Each round forgets what groups in it had captured.
        if (search.first !== undefined && body.groups.includes(search.first))
          search.captured = undefined;
        const found = body.match(search, at, way, (to) => {
          if (done >= least && to === at) return false;
          return after(done + 1)(search, to, way, next);
        });
        if (!found) search.captured = before;
        return found;
      };
      if (done < least) return once();
      return isLazy ? next(at) || once() : once() || next(at);
    };
  const top = most === Number.POSITIVE_INFINITY ? '' : `${most}`;
  return {
    groups: body.groups,
    textIn: (first) => `(?:${body.textIn(first)}){${least},${top}}${isLazy ? '?' : ''}`,
    match: after(0),
  };
}

const look = (body: Part, isBehind: boolean, isNegated: boolean): Part => ({
  groups: body.groups,
  textIn: (first) => `(?${isBehind ? '<' : ''}${isNegated ? '!' : '='}${body.textIn(first)})`,
  match: (search, at, _way, next) => {
    const before = search.captured;
    const found = body.match(search, at, isBehind ? -1 : 1, () => true);
    if (isNegated) search.captured = before;
    if (found !== isNegated && next(at)) return true;
    search.captured = before;
    return false;
  },
});

function group(body: Part): Part {
  const own = Symbol('group');
  return {
    groups: [own, ...body.groups],
    textIn: (first) => `(${first === own ? '' : '?:'}${body.textIn(first)})`,
    match: (search, at, way, next) => {
      if (search.first !== own) return body.match(search, at, way, next);
      return body.match(search, at, way, (to) => {
        const before = search.captured;
        search.captured = search.text.slice(Math.min(at, to), Math.max(at, to));
        if (next(to)) return true;
        search.captured = before;
        return false;
      });
    },
  };
}

const counts = fc.constantFrom<readonly [number, number]>(
  [0, Number.POSITIVE_INFINITY],
  [1, Number.POSITIVE_INFINITY],
  [0, 1],
  [2, 2],
  [0, 3],
  [2, 5],
  [3, Number.POSITIVE_INFINITY],
  [0, 40],
  [30, 30],
);

const { part: anyPart } = fc.letrec<{ part: Part }>((tie) => {
  const part = tie('part');
  const weighted = (weight: number, arbitrary: fc.Arbitrary<Part>) => ({ weight, arbitrary });
  return {
    part: fc.oneof(
      { maxDepth: 4 },
      weighted(8, fc.constantFrom(...ones)),
      weighted(1, fc.constantFrom(start, end, boundary, again)),
      weighted(6, fc.array(part, { maxLength: 5 }).map(sequence)),
      weighted(2, fc.array(part, { minLength: 1, maxLength: 3 }).map(choice)),
      weighted(
        6,
        fc.tuple(part, counts, fc.boolean()).map((chosen) => repeat(...chosen)),
      ),
      weighted(
        1,
        fc.tuple(part, fc.boolean(), fc.boolean()).map((chosen) => look(...chosen)),
      ),
      weighted(1, part.map(group)),
    ),
  };
});

/** Patterns, with or without anchors. */
export const patterns = fc
  .tuple(fc.boolean(), anyPart, fc.boolean())
  .map(([isAnchored, part, isEnded]) => {
    const whole = sequence([isAnchored ? [start] : [], [part], isEnded ? [end] : []].flat());
    // What a failure shows.
    return Object.assign(whole, { [fc.toStringMethod]: () => textOf(whole) });
  });

export function textOf(pattern: Part): string {
  return pattern.textIn(pattern.groups[0]);
}

/** A search by the specification's matcher (ECMA-262, 22.2.2), which counts what it does. */
export class Backtracker {
  readonly text: Text;
  /** The group that captures. */
  readonly first: symbol | undefined;
  captured: Text | undefined;
  readonly #pattern: Part;
  #stepsLeft: number;

  /** @param most characters that attempts may read, after which `isFound` throws */
  constructor(pattern: Part, text: Text, most: number) {
    this.#pattern = pattern;
    this.text = text;
    [this.first] = pattern.groups;
    this.#stepsLeft = most;
  }

  step(): void {
    this.#stepsLeft -= 1;
    if (this.#stepsLeft < 0) throw new Error('more steps than are allowed');
  }

  isFound(): boolean {
    for (let from = 0; from <= this.text.length; from += 1) {
      this.captured = undefined;
      if (this.#pattern.match(this, from, 1, () => true)) return true;
    }
    return false;
  }
}
