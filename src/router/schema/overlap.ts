import type { TSchema } from '@sinclair/typebox';
import { alternativesOf, type Scalar, tagsOf } from './alternatives.ts';
import { isPoorlyCompiled } from './poorly-compiled.ts';
import { isSchema, kindOf, type Names, targetOf } from './schema-tree.ts';

/** Most schemas that one value may be checked against at one place. The time of a check grows with their number. */
const maxOverlap = 256;

/** What comparing with a literal costs, where any other check costs 1. */
const literalWeight = 0.25;

/** Most pairs of schemas that can meet at one value. Bounds the time of this analysis. */
const maxPairs = 100_000;

export interface Overlap {
  /** Why the schema can't be checked in a time that is bounded by the size of the value. */
  readonly fault?: string;
  /** Compiled code could take far longer than the matcher: two paths lead to one named schema, or a union is long. */
  readonly again: boolean;
  /** Some pair of objects can't meet at one value, but only if a check compares their literals first. */
  readonly tagged: boolean;
}

/** A schema of arrays or objects, with the steps from such a value to its parts. */
interface Node {
  readonly isOfItems: boolean;
  readonly tags: ReadonlyMap<string, Scalar>;
  /** Steps to a part with a name, or at an index. */
  readonly labelled: ReadonlyMap<string | number, TSchema>;
  /** Steps to all parts but those in `except`. */
  readonly wide: readonly { readonly except: ReadonlySet<string | number>; readonly to: TSchema }[];
  /** The nodes that one value can meet together with this one. The node itself is among them. */
  readonly met: Set<Node>;
}

/** All schemas that a value is checked against because it is checked against one schema, without a step into the value. */
interface Reach {
  readonly nodes: ReadonlySet<Node>;
  /** The named schemas among them, each with the places (references, or itself) that lead to it. */
  readonly entries: ReadonlyMap<TSchema, ReadonlySet<TSchema>>;
  /** How many checks compiled code makes: a schema counts once for each path to it. */
  readonly compiled: number;
  /** The same for the matcher, which first tells the alternatives of a union apart by their literals. */
  readonly apart: number;
}

/**
 * Finds which parts of a schema can meet at one value. Where two paths lead to one named schema, the time of a naive
 * check doubles with each level of the value:
 *
 *     T = { left: T, op: '+' } | { left: T, op: '-' }        `op` is checked last
 *
 *     value              is checked against
 *     v                  A = { left: T, op: '+' }     B = { left: T, op: '-' }       the pair (A, B) meets at v
 *     v.left             T by way of A                T by way of B                  so T is checked twice here
 *     v.left.left        T, T                         T, T                           and four times here
 *
 * The analysis begins with the root at one value and follows each pair of schemas that meet into the parts of the
 * value where both have a step.
 */
export function overlapOf(root: TSchema, names: Names): Overlap {
  const analysis = new Analysis(names);
  try {
    analysis.run(root);
    return analysis;
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message, again: true, tagged: true };
    throw error;
  }
}

class Fault extends Error {}

class Analysis implements Overlap {
  again = false;
  tagged = false;
  readonly #names: Names;
  readonly #reaches = new Map<TSchema, Reach | undefined>();
  /** Pairs that meet at one value and have not been followed into its parts yet. */
  readonly #open: (readonly [Node, Node])[] = [];
  #pairs = 0;

  constructor(names: Names) {
    this.#names = names;
  }

  run(root: TSchema): void {
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
    if (one !== other && exclude(one, other)) {
      this.tagged = true;
      return;
    }
    if (one.met.has(other)) return;
    one.met.add(other);
    other.met.add(one);
    this.#pairs += 1;
    if (Math.max(one.met.size, other.met.size) > maxOverlap || this.#pairs > maxPairs) {
      throw new Fault(tooWide('parts of it overlap so'));
    }
    this.#open.push([one, other]);
  }

  #follow(a: Node, b: Node): void {
    const [few, many] = a.labelled.size <= b.labelled.size ? [a, b] : [b, a];
    for (const [label, to] of few.labelled) this.#step(to, many.labelled.get(label));
    this.#widely(a, b);
    if (a !== b) this.#widely(b, a);
    for (const { to } of a.wide) for (const { to: too } of b.wide) this.#step(to, too);
  }

  /** The wide steps of `a` meet the labelled steps of `b`. */
  #widely(a: Node, b: Node): void {
    for (const { except, to } of a.wide) {
      for (const [label, too] of b.labelled) if (!except.has(label)) this.#step(to, too);
    }
  }

  #step(a: TSchema, b: TSchema | undefined): void {
    if (b !== undefined) this.#meet(this.#reach(a), this.#reach(b));
  }

  #reach(schema: TSchema): Reach {
    if (this.#reaches.has(schema)) {
      const known = this.#reaches.get(schema);
      if (known === undefined) throw new Fault(endless);
      return known;
    }
    this.#reaches.set(schema, undefined);
    const reach = this.#entered(schema) ?? this.#reachOfBody(schema);
    this.#reaches.set(schema, reach);
    return reach;
  }

  /** The reach of a named schema, or of a reference to one; undefined: the schema is neither. */
  #entered(schema: TSchema): Reach | undefined {
    const { $id } = schema;
    const named = typeof $id === 'string' ? this.#names.get($id) : targetOf(schema, this.#names);
    if (named === undefined) return undefined;
    const inner = named === schema ? this.#reachOfBody(schema) : this.#reach(named);
    const entries = new Map(inner.entries);
    entries.set(named, new Set([schema]));
    return { ...inner, entries };
  }

  #reachOfBody(schema: TSchema): Reach {
    const target = targetOf(schema, this.#names);
    if (schema.$ref !== undefined && target === undefined) throw new Fault(noTarget(schema.$ref));
    if (isPoorlyCompiled(schema)) this.again = true;
    const parts = target === undefined ? inPlace(schema) : [target];
    const node = nodeOf(schema);
    const nodes = new Set<Node>(node === undefined ? [] : [node]);
    const entries = new Map<TSchema, ReadonlySet<TSchema>>();
    let compiled = 1;
    for (const part of parts) {
      const reach = this.#reach(part);
      compiled += kindOf(part) === 'Literal' ? literalWeight : reach.compiled;
      for (const one of reach.nodes) nodes.add(one);
      for (const [named, by] of reach.entries) {
        const all = union(by, entries.get(named));
        if (all.size > 1) this.again = true;
        entries.set(named, all);
      }
    }
    const apart = 1 + this.#apart(schema, parts);
    if (compiled > maxOverlap) this.again = true;
    if (apart > maxOverlap) throw new Fault(tooWide('a union or an intersection in it is so wide'));
    return { nodes, entries, compiled, apart };
  }

  #apart(schema: TSchema, parts: readonly TSchema[]): number {
    const sum = (schemas: readonly TSchema[]): number =>
      schemas.reduce((total, part) => total + this.#reach(part).apart, 0);
    if (kindOf(schema) !== 'Union') return sum(parts);
    const { literals, byKey, others } = alternativesOf(schema, this.#names);
    const likeliest = [...byKey.values()].map(sum);
    return Math.min(literals.length, 1) + Math.max(0, ...likeliest) + sum(others);
  }
}

const endless =
  'a type in it holds itself without a step into the value (a member, an item), so that a check would never end';

function noTarget($ref: unknown): string {
  return `a reference in it leads nowhere: no schema in it has the $id ${JSON.stringify($ref)}`;
}

function tooWide(why: string): string {
  return (
    `${why} that one value would be held against more than ${maxOverlap} schemas; tell the alternatives of a union ` +
    'apart by a required member with a literal (Type.Literal) of its own in each, or split the type'
  );
}

/** The parts of a schema that are checked against the same value. */
function inPlace(schema: TSchema): TSchema[] {
  switch (kindOf(schema)) {
    case 'Union':
      return schema.anyOf as TSchema[];
    case 'Intersect':
      return schema.allOf as TSchema[];
    case 'Not':
      return [schema.not as TSchema];
    default:
      return [];
  }
}

const nothing: ReadonlySet<string> = new Set();

function nodeOf(schema: TSchema): Node | undefined {
  const labelled = new Map<string | number, TSchema>();
  const wide: Node['wide'][number][] = [];
  const all = (to: unknown, except: ReadonlySet<string | number> = nothing): void => {
    if (isSchema(to)) wide.push({ except, to });
  };
  const kind = kindOf(schema);
  switch (kind) {
    case 'Object': {
      const properties = Object.entries(schema.properties as Record<string, TSchema>);
      for (const [name, member] of properties) labelled.set(name, member);
      all(schema.additionalProperties, new Set(labelled.keys()));
      break;
    }
    case 'Record':
      for (const member of Object.values((schema.patternProperties ?? {}) as object)) all(member);
      all(schema.additionalProperties);
      break;
    case 'Intersect':
      all(schema.unevaluatedProperties);
      break;
    case 'Array':
      all(schema.items);
      all(schema.contains);
      break;
    case 'Tuple':
      for (const [index, item] of ((schema.items ?? []) as TSchema[]).entries()) {
        labelled.set(index, item);
      }
      break;
  }
  if (labelled.size + wide.length === 0) return undefined;
  const isOfItems = kind === 'Array' || kind === 'Tuple';
  return { isOfItems, tags: tagsOf(schema), labelled, wide, met: new Set() };
}

/** Whether no value can match both: the check of one of them ends at the value's type, or at a literal. */
function exclude(one: Node, other: Node): boolean {
  if (one.isOfItems !== other.isOfItems) return true;
  for (const [name, tag] of one.tags) {
    const others = other.tags.get(name);
    if (others !== undefined && others !== tag) return true;
  }
  return false;
}

function union<Item>(a: ReadonlySet<Item>, b: ReadonlySet<Item> | undefined): ReadonlySet<Item> {
  return b === undefined ? a : new Set([...a, ...b]);
}
