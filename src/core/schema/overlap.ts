import { cached } from '../base/cached.ts';
import { RegistrationError } from '../base/registration-error.ts';
import {
  differByTag,
  forEachPart,
  isRecord,
  isScalar,
  resolved,
  type Scalar,
  type SchemaNode,
  someWithin,
  tagsOf,
  type UnionNode,
} from './model.ts';

/** Most schemas that one value may be checked against at one place. The time of a check grows with their number. */
const maxOverlap = 256;

/** Most pairs of schemas that can meet at one value. Bounds the time of this analysis. */
const maxPairs = 100_000;

/** A schema of arrays or objects, with the steps from such a value to its parts. */
interface Node {
  readonly isOfItems: boolean;
  readonly tags: ReadonlyMap<string, Scalar>;
  /** Steps to a part with a name, or at an index. */
  readonly labelled: ReadonlyMap<string, SchemaNode>;
  readonly wide: readonly SchemaNode[];
  /** The wide steps lead to named parts too: a pattern takes every name that matches. */
  readonly meetsNamed: boolean;
  /** The nodes that one value can meet together with this one. The node itself is among them. */
  readonly met: Set<Node>;
}

/** All schemas that a value is checked against because it is checked against one schema, without a step into the value. */
interface Reach {
  readonly nodes: ReadonlySet<Node>;
  /** The named schemas among them, each with the places (references, or itself) that lead to it. */
  readonly entries: ReadonlyMap<SchemaNode, ReadonlySet<SchemaNode>>;
  /** How many checks are made, if the alternatives of a union are first told apart by their literals. */
  readonly apart: number;
}

/**
 * Finds which parts of a schema can meet at one value. If two paths lead to one named schema, the time of a naive check
 * doubles with each level of the value:
 *
 *     T = { left: T, op: '+' } | { left: T, op: '-' }        `op` is checked last
 *
 *     value              is checked against
 *     v                  A = { left: T, op: '+' }     B = { left: T, op: '-' }       the pair (A, B) meets at v
 *     v.left             T by way of A                T by way of B                  so T is checked twice here
 *     v.left.left        T, T                         T, T                           and four times here
 *
 * The analysis begins with the root at one value and follows each pair of schemas that meet into the parts of the
 * value to which both have a step.
 *
 * @returns whether a part of a value may be checked against one schema again and again, because two ways lead there
 * @throws RegistrationError if the time of a check is not bounded by the size of the value
 */
export function overlaps(root: SchemaNode, where: string): boolean {
  const analysis = new Analysis(where);
  analysis.run(root);
  return analysis.again;
}

class Analysis {
  again = false;
  readonly #where: string;
  readonly #reaches = new Map<SchemaNode, Reach>();
  /** Pairs that meet at one value and have not been followed into its parts yet. */
  readonly #open: (readonly [Node, Node])[] = [];
  #pairs = 0;

  constructor(where: string) {
    this.#where = where;
  }

  #refuse(fault: string): never {
    throw new RegistrationError(`${this.#where}: ${fault}`);
  }

  #refuseTooWide(why: string): never {
    this.#refuse(
      `${why} that one value would be held against more than ${maxOverlap} schemas; tell the alternatives of a union ` +
        'apart by a required member with a literal (Type.Literal) of its own in each, or split the type',
    );
  }

  run(root: SchemaNode): void {
    const start = this.#reach(root);
    this.#meet(start, start);
    for (let pair = this.#open.pop(); pair !== undefined; pair = this.#open.pop()) {
      this.#follow(...pair);
    }
  }

  /** Notes that one value is checked against everything in `a` and everything in `b`. */
  #meet(a: Reach, b: Reach): void {
    if (a !== b) {
      for (const [named, entries] of a.entries) {
        if (union(entries, b.entries.get(named)).size > entries.size) this.again = true;
      }
    }
    const others = [...b.nodes];
    // Within one reach, each pair is taken once.
    for (const [index, one] of [...a.nodes].entries()) {
      for (let next = a === b ? index : 0; next < others.length; next += 1) {
        this.#pair(one, others[next] as Node);
      }
    }
  }

  #pair(one: Node, other: Node): void {
    if (one.met.has(other) || (one !== other && exclude(one, other))) return;
    one.met.add(other);
    other.met.add(one);
    this.#pairs += 1;
    if (Math.max(one.met.size, other.met.size) > maxOverlap || this.#pairs > maxPairs) {
      this.#refuseTooWide('parts of it overlap so');
    }
    this.#open.push([one, other]);
  }

  #follow(a: Node, b: Node): void {
    const [few, many] = a.labelled.size <= b.labelled.size ? [a, b] : [b, a];
    for (const [label, to] of few.labelled) this.#step(to, many.labelled.get(label));
    this.#widely(a, b);
    if (a !== b) this.#widely(b, a);
    for (const to of a.wide) for (const too of b.wide) this.#step(to, too);
  }

  /** The wide steps of `a` meet the labelled steps of `b`. */
  #widely(a: Node, b: Node): void {
    for (const to of a.wide) {
      for (const [label, too] of b.labelled)
        if (a.meetsNamed || !a.labelled.has(label)) this.#step(to, too);
    }
  }

  #step(a: SchemaNode, b: SchemaNode | undefined): void {
    if (b !== undefined) this.#meet(this.#reach(a), this.#reach(b));
  }

  #reach(node: SchemaNode): Reach {
    // It ends: a type that holds itself without a step into the value was refused when its references were linked.
    return cached(this.#reaches, node, () => this.#reachOf(node));
  }

  #reachOf(node: SchemaNode): Reach {
    const named = resolved(node);
    if (named.name === undefined) return this.#reachOfBody(node);
    const inner = named === node ? this.#reachOfBody(node) : this.#reach(named);
    return { ...inner, entries: new Map(inner.entries).set(named, new Set([node])) };
  }

  #reachOfBody(node: SchemaNode): Reach {
    // Items are compared with items within items.
    if (node.kind === 'array' && node.uniqueItems === true) this.again = true;
    const { inside, inPlace } = partsOf(node);
    const nodes = new Set<Node>(inside === undefined ? [] : [inside]);
    const entries = new Map<SchemaNode, ReadonlySet<SchemaNode>>();
    for (const part of inPlace) {
      const reach = this.#reach(part);
      for (const one of reach.nodes) nodes.add(one);
      for (const [named, by] of reach.entries) {
        const all = union(by, entries.get(named));
        if (all.size > 1) this.again = true;
        entries.set(named, all);
      }
    }
    const apart = 1 + this.#apart(node, inPlace);
    if (apart > maxOverlap) this.#refuseTooWide('a union or an intersection in it is so wide');
    return { nodes, entries, apart };
  }

  #apart(node: SchemaNode, parts: readonly SchemaNode[]): number {
    const sum = (nodes: readonly SchemaNode[]): number =>
      nodes.reduce((total, part) => total + this.#reach(part).apart, 0);
    if (node.kind !== 'union') return sum(parts);
    const { literals, byKey, others } = alternativesOf(node);
    const likeliest = [...byKey.values()].map(sum);
    return Math.min(literals.length, 1) + Math.max(0, ...likeliest) + sum(others);
  }
}

/**
 * Whether a type that holds itself has a union of which two variants that hold it may both be tried on one value. What tries one
 * after the other, and remembers nothing as the checks here do, looks at each part of the value twice, at its parts four times.
 *
 * @param isTold whether every union is told apart by a literal if its variants have one, not only those written as `oneOf`
 */
export function branches(root: SchemaNode, isTold: boolean): boolean {
  return someWithin(root, (node) => {
    if (node.kind !== 'union') return false;
    const holding = node.variants.filter((one) => someWithin(one, (part) => part === node));
    const byTag = isTold || node.isExclusive === true;
    return holding.some((one, index) =>
      holding.slice(index + 1).some((other) => !areApart(one, other, byTag)),
    );
  });
}

function areApart(one: SchemaNode, other: SchemaNode, byTag: boolean): boolean {
  const [a, b] = [resolved(one), resolved(other)];
  if (a.kind === 'object' && b.kind === 'object') return byTag && differByTag(tagsOf(a), tagsOf(b));
  const kinds = [a.kind, b.kind];
  // To some libraries an array is a record.
  return (
    kinds.includes('array') && [a, b].some((node) => node.kind === 'object' && !isRecord(node))
  );
}

/** The parts of a schema: those within a value, and those that are checked against the value itself. */
function partsOf(node: SchemaNode) {
  const labelled = new Map<string, SchemaNode>();
  const wide: SchemaNode[] = [];
  const inPlace: SchemaNode[] = [];
  forEachPart(node, (part, step) => {
    if (step === '') inPlace.push(part);
    else if (step === '/*') wide.push(part);
    // A name is a text: what checks it holds no other part.
    else if (step !== undefined) labelled.set(step, part);
  });
  const inside: Node = {
    isOfItems: node.kind === 'array',
    tags: tagsOf(node),
    labelled,
    wide,
    meetsNamed: node.kind === 'object' && node.patterns.length > 0,
    met: new Set(),
  };
  return { inside: labelled.size + wide.length === 0 ? undefined : inside, inPlace };
}

/** Whether no value can match both: the check of one of them ends at the value's type, or at a literal. */
function exclude(one: Node, other: Node): boolean {
  return one.isOfItems !== other.isOfItems || differByTag(one.tags, other.tags);
}

function union<Item>(a: ReadonlySet<Item>, b: ReadonlySet<Item> | undefined): ReadonlySet<Item> {
  return b === undefined ? a : new Set([...a, ...b]);
}

/**
 * The alternatives of a union, sorted so that one look at a value tells which of them can match:
 *
 *     'a' | 'b' | { op: '+', x: number } | { op: '-', x: number } | string[]
 *     literals    byKey, key = 'op'                                 others
 */
export interface Alternatives {
  readonly literals: readonly Scalar[];
  /** The member whose literal tells the alternatives in `byKey` apart. */
  readonly key: string | undefined;
  readonly byKey: ReadonlyMap<unknown, readonly SchemaNode[]>;
  /** All others, tried one after the other. */
  readonly others: readonly SchemaNode[];
}

export function alternativesOf({ variants }: UnionNode): Alternatives {
  const literals: Scalar[] = [];
  const rest: SchemaNode[] = [];
  for (const variant of variants) {
    if (variant.kind === 'literal' && isScalar(variant.value)) literals.push(variant.value);
    else rest.push(variant);
  }
  return { literals, ...byLiteral(rest, (variant) => tagsOf(resolved(variant))) };
}

/** Sorts schemas by the literal of one member: the one that most of them have, if two have it. */
export function byLiteral<Item>(
  items: readonly Item[],
  tagsOfItem: (item: Item) => ReadonlyMap<string, Scalar>,
) {
  const tags = items.map(tagsOfItem);
  const key = commonest(tags);
  const byKey = new Map<unknown, Item[]>();
  const others: Item[] = [];
  for (const [index, item] of items.entries()) {
    const tag = key === undefined ? undefined : tags[index]?.get(key);
    if (tag === undefined) others.push(item);
    else byKey.set(tag, [...(byKey.get(tag) ?? []), item]);
  }
  return { key, byKey, others };
}

/** The name that occurs most often; undefined if none occurs twice. */
function commonest(all: readonly ReadonlyMap<string, Scalar>[]): string | undefined {
  const counts = new Map<string, number>();
  for (const tags of all) {
    for (const name of tags.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([, a], [, b]) => b - a);
  return best !== undefined && best[1] > 1 ? best[0] : undefined;
}
