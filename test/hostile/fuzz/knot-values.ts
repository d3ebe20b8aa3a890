import type { Knot, Part } from './knots.ts';

type Random = (below: number) => number;

/** Makes values for a knot: nearly right, and as deep and as large as is asked for. */
export class KnotValues {
  readonly #knot: Knot;
  readonly #random: Random;
  /** Values still to be made; beyond it all is a leaf. */
  #left = 0;
  #depth = 0;

  constructor(knot: Knot, random: Random) {
    this.#knot = knot;
    this.#random = random;
  }

  /** @param mistakes one in so many parts is not of its type; 0: none on purpose */
  make(size: number, depth: number, mistakes: number): unknown {
    this.#left = size;
    this.#depth = depth;
    return this.#of({ kind: 'ref', to: 'A' }, 0, mistakes, 0);
  }

  #of(part: Part, level: number, mistakes: number, inPlace: number): unknown {
    if (mistakes > 0 && this.#random(mistakes) === 0) return this.#any();
    if (inPlace > 8) return 1;
    const within = (one: Part): unknown => {
      this.#left -= 1;
      return this.#of(one, level + 1, mistakes, 0);
    };
    const items = (one: Part, most: number): unknown[] =>
      Array.from({ length: this.#isOver(level) ? 0 : this.#random(most + 1) }, () => within(one));
    switch (part.kind) {
      case 'number':
        return this.#random(3);
      case 'string':
        return ['', 'a', '+'][this.#random(3)];
      case 'null':
        return null;
      case 'literal':
        return part.value;
      case 'ref':
        return this.#of(this.#knot[part.to] ?? part, level, mistakes, inPlace + 1);
      case 'array':
      case 'set':
        return items(part.of, 3);
      case 'record':
        return Object.fromEntries(items(part.of, 2).map((item, index) => [`k${index}`, item]));
      case 'not':
        return this.#any();
      case 'tuple':
        return this.#isOver(level) ? [] : part.of.map(within);
      case 'union':
        return this.#of(this.#oneOf(part.of, level), level, mistakes, inPlace + 1);
      case 'intersection': {
        const all = part.of.map((one) => this.#of(one, level, mistakes, inPlace + 1));
        return all.every(isMembers) ? Object.assign({}, ...all) : all[0];
      }
      case 'object': {
        if (this.#isOver(level)) return {};
        return Object.fromEntries(
          part.members
            .filter(() => !part.isOptional || this.#random(3) > 0)
            .map(({ name, of }) => [name, within(of)]),
        );
      }
    }
  }

  /** What leads deeper, until it is deep enough. */
  #oneOf(parts: readonly Part[], level: number): Part {
    const leaves = parts.filter((part) => !('of' in part) && !('members' in part));
    const deeper = parts.filter((part) => !leaves.includes(part));
    const wanted = this.#isOver(level) ? leaves : deeper;
    const from = wanted.length === 0 ? parts : wanted;
    return from[this.#random(from.length)] ?? { kind: 'null' };
  }

  #isOver(level: number): boolean {
    return level >= this.#depth || this.#left <= 0;
  }

  #any(): unknown {
    return [null, 0, 'x', '+', [], {}, { op: '-' }, [1, 1], { left: { op: '+' } }][this.#random(9)];
  }
}

function isMembers(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Arrays, objects and what is in them. */
export function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + sizeOf(one), 1);
}
