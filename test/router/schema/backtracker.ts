import fc from 'fast-check';

/** A pattern that was generated: its text, and how a backtracking matcher goes through it. */
export type Part =
  | { readonly kind: 'one'; readonly text: string; readonly points: ReadonlySet<string> }
  | { readonly kind: 'sequence'; readonly parts: readonly Part[] }
  | { readonly kind: 'choice'; readonly parts: readonly Part[] }
  | {
      readonly kind: 'repeat';
      readonly body: Part;
      readonly least: number;
      readonly most: number;
      readonly isLazy: boolean;
    }
  | {
      readonly kind: 'look';
      readonly body: Part;
      readonly isBehind: boolean;
      readonly isNegated: boolean;
    }
  | { readonly kind: 'group'; readonly body: Part }
  | { readonly kind: 'again' }
  | { readonly kind: 'start' | 'end' | 'boundary' };

/** Characters of one and of two units, and half of a pair. */
export const alphabet = ['a', 'b', '-', '😀', '\ud83d'];

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
].map(([text = '', points = '']): Part => ({ kind: 'one', text, points: new Set(points) }));

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

/** Patterns with one group that captures at most, to which `\1` refers. */
export const patterns: fc.Arbitrary<Part> = fc
  .letrec<{ part: Part }>((tie) => {
    const part = tie('part');
    return {
      part: fc.oneof(
        { maxDepth: 4 },
        { weight: 8, arbitrary: fc.constantFrom(...ones) },
        {
          weight: 1,
          arbitrary: fc.constantFrom<Part>(
            { kind: 'start' },
            { kind: 'end' },
            { kind: 'boundary' },
            { kind: 'again' },
          ),
        },
        {
          weight: 6,
          arbitrary: fc
            .array(part, { maxLength: 5 })
            .map((parts): Part => ({ kind: 'sequence', parts })),
        },
        {
          weight: 2,
          arbitrary: fc
            .array(part, { minLength: 1, maxLength: 3 })
            .map((parts): Part => ({ kind: 'choice', parts })),
        },
        {
          weight: 6,
          arbitrary: fc.tuple(part, counts, fc.boolean()).map(
            ([body, [least, most], isLazy]): Part => ({
              kind: 'repeat',
              body,
              least,
              most,
              isLazy,
            }),
          ),
        },
        {
          weight: 1,
          arbitrary: fc
            .tuple(part, fc.boolean(), fc.boolean())
            .map(
              ([body, isBehind, isNegated]): Part => ({ kind: 'look', body, isBehind, isNegated }),
            ),
        },
        { weight: 1, arbitrary: part.map((body): Part => ({ kind: 'group', body })) },
      ),
    };
  })
  .part.chain((part) =>
    fc.tuple(fc.boolean(), fc.boolean()).map(
      ([isAnchored, isEnded]): Part => ({
        kind: 'sequence',
        parts: [
          ...(isAnchored ? [{ kind: 'start' } as const] : []),
          part,
          ...(isEnded ? [{ kind: 'end' } as const] : []),
        ],
      }),
    ),
  );

/** The text of a pattern. Only its first group captures. Without one there is nothing to refer to. */
export function textOf(root: Part): string {
  const hasReference = firstGroup(root) !== undefined;
  let hasGroup = false;
  const inner = (part: Part): string => {
    switch (part.kind) {
      case 'one':
        return part.text;
      case 'sequence':
        return part.parts
          .map((one) => (one.kind === 'choice' ? `(?:${inner(one)})` : inner(one)))
          .join('');
      case 'choice':
        return part.parts.map(inner).join('|');
      case 'repeat': {
        const { least, most } = part;
        const top = most === Number.POSITIVE_INFINITY ? '' : `${most}`;
        return `(?:${inner(part.body)}){${least},${top}}${part.isLazy ? '?' : ''}`;
      }
      case 'look':
        return `(?${part.isBehind ? '<' : ''}${part.isNegated ? '!' : '='}${inner(part.body)})`;
      case 'group': {
        const opening = hasGroup ? '(?:' : '(';
        hasGroup = true;
        return `${opening}${inner(part.body)})`;
      }
      case 'again':
        return hasReference ? '\\1' : '(?!)';
      case 'start':
        return '^';
      case 'end':
        return '$';
      case 'boundary':
        return '\\b';
    }
  };
  return inner(root);
}

/** Characters, which are code points. */
type Text = readonly string[];

interface Capture {
  text: Text | undefined;
}

/** The specification's matcher (ECMA-262, 22.2.2), which counts what it does. Groups: see `textOf`. */
export class Backtracker {
  /** Characters that attempts read. */
  steps = 0;
  readonly #most: number;
  readonly #root: Part;
  readonly #captures: Part | undefined;

  /** @param most steps, after which `search` throws */
  constructor(root: Part, most: number) {
    this.#root = root;
    this.#most = most;
    this.#captures = firstGroup(root);
  }

  search(text: Text): boolean {
    for (let from = 0; from <= text.length; from += 1) {
      const capture: Capture = { text: undefined };
      if (this.#match(this.#root, text, from, 1, capture, () => true)) return true;
    }
    return false;
  }

  #step(): void {
    this.steps += 1;
    if (this.steps > this.#most) throw new Error(`more than ${this.#most} steps`);
  }

  #match(
    part: Part,
    text: Text,
    at: number,
    direction: 1 | -1,
    capture: Capture,
    next: (at: number) => boolean,
  ): boolean {
    switch (part.kind) {
      case 'one': {
        const point = text[direction === 1 ? at : at - 1];
        if (point === undefined || !part.points.has(point)) return false;
        this.#step();
        return next(at + direction);
      }
      case 'sequence': {
        const parts = direction === 1 ? part.parts : [...part.parts].reverse();
        const from = (index: number, place: number): boolean => {
          const one = parts[index];
          if (one === undefined) return next(place);
          return this.#match(one, text, place, direction, capture, (to) => from(index + 1, to));
        };
        return from(0, at);
      }
      case 'choice':
        return part.parts.some((one) => this.#match(one, text, at, direction, capture, next));
      case 'repeat':
        return this.#repeat(part, text, at, direction, capture, next, 0);
      case 'look': {
        const before = capture.text;
        const ahead = part.isBehind ? -1 : 1;
        const found = this.#match(part.body, text, at, ahead, capture, () => true);
        if (found === part.isNegated) {
          capture.text = before;
          return false;
        }
        if (part.isNegated) capture.text = before;
        if (next(at)) return true;
        capture.text = before;
        return false;
      }
      case 'group': {
        if (part !== this.#captures)
          return this.#match(part.body, text, at, direction, capture, next);
        return this.#match(part.body, text, at, direction, capture, (to) => {
          const before = capture.text;
          capture.text = text.slice(Math.min(at, to), Math.max(at, to));
          if (next(to)) return true;
          capture.text = before;
          return false;
        });
      }
      case 'again': {
        if (this.#captures === undefined) return false;
        const again = capture.text ?? [];
        const from = direction === 1 ? at : at - again.length;
        if (from < 0 || again.some((point, index) => text[from + index] !== point)) return false;
        for (let read = 0; read < again.length; read += 1) this.#step();
        return next(at + direction * again.length);
      }
      case 'start':
        return at === 0 && next(at);
      case 'end':
        return at === text.length && next(at);
      case 'boundary':
        return isWord(text[at - 1]) !== isWord(text[at]) && next(at);
    }
  }

  #repeat(
    part: Part & { kind: 'repeat' },
    text: Text,
    at: number,
    direction: 1 | -1,
    capture: Capture,
    next: (at: number) => boolean,
    done: number,
  ): boolean {
    const again = (): boolean => {
      if (done >= part.most) return false;
      const before = capture.text;
      // Each round forgets what groups in it had captured.
      if (this.#captures !== undefined && holds(part.body, this.#captures))
        capture.text = undefined;
      const found = this.#match(part.body, text, at, direction, capture, (to) => {
        if (done >= part.least && to === at) return false;
        return this.#repeat(part, text, to, direction, capture, next, done + 1);
      });
      if (!found) capture.text = before;
      return found;
    };
    if (done < part.least) return again();
    return part.isLazy ? next(at) || again() : again() || next(at);
  }
}

function isWord(point: string | undefined): boolean {
  return point === 'a' || point === 'b';
}

function partsOf(part: Part): readonly Part[] {
  if ('parts' in part) return part.parts;
  return 'body' in part ? [part.body] : [];
}

function firstGroup(part: Part): Part | undefined {
  if (part.kind === 'group') return part;
  for (const one of partsOf(part)) {
    const found = firstGroup(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

function holds(part: Part, other: Part): boolean {
  return part === other || partsOf(part).some((one) => holds(one, other));
}
