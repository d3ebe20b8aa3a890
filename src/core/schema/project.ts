import { TypeSystemPolicy } from '@sinclair/typebox/system';
import type { Checks } from './check.ts';
import { Code } from './code.ts';
import {
  type ArrayNode,
  type IntersectionNode,
  intersectionOf,
  isScalar,
  type LiteralNode,
  type Member,
  type NamePattern,
  type ObjectNode,
  resolved,
  type SchemaNode,
  takesAnything,
  takesMore,
  type UnionNode,
} from './model.ts';
import {
  bytes,
  copyRest,
  eachScalar,
  jsonOf,
  merged,
  misplaced,
  type Project,
  patternCopier,
  type Shape,
  scalar,
  seenEmpty,
  type Variant,
  variantPicker,
} from './projected.ts';
import { RefusedPart, ResultFault, unwritableFault } from './result.ts';

/** What `returns` makes of a result. */
export interface ResultRules {
  /**
   * What is sent of a result: the members that `returns` names. Bytes become base64.
   *
   * @throws ResultFault for a part that nothing in `returns` can stand for
   */
  readonly project: (result: unknown) => unknown;
  /** Why a projected result does not match `returns`; undefined: it does. */
  readonly mismatchOf: (projected: unknown) => string | undefined;
  /** Whether values of any kind may be sent in some place. */
  readonly isOpen: boolean;
}

/**
 * Compiles the projection of a schema to one function, since a closure for each part takes twenty times as long:
 *
 *     { id: number, owner: { name: string } | null }
 *
 *     function p0(v) { …; return { id: s(v.id), owner: p1(v.owner) }; }
 *     function p1(v) { if (v is no object) return v; …; return { name: s(v.name) }; }
 *
 * What is not declared is left out; a value of another type stays, for the check to find. An object or array stands only
 * where one is declared: elsewhere it could carry anything out.
 */
export function compileProjection(
  node: SchemaNode,
  checks: Checks,
): Pick<ResultRules, 'project' | 'isOpen'> {
  const compiler = new ProjectionCompiler(checks);
  const root = compiler.whole(node);
  return {
    isOpen: compiler.isOpen,
    project: (result) => {
      try {
        // Each object is projected onto each named schema once, however many variants lead to it.
        return compiler.tries ? checks.remembering(() => root(result)) : root(result);
      } catch (error) {
        if (error instanceof RefusedPart) throw error.located(result);
        if (error instanceof RangeError) {
          throw (
            unwritableFault(result, 'the result', true) ??
            new ResultFault('the result nests too deeply', { cause: error })
          );
        }
        throw error;
      }
    },
  };
}

/** Ends a function for what is no object, and goes on with what the object says it is in JSON. */
const head = `if (typeof v !== "object" || v === null) return v;
if (typeof v.toJSON === "function") { v = jsonOf(v); if (typeof v !== "object" || v === null) return v; }`;
const notArray = 'if (Array.isArray(v)) throw misplaced(v, "object");';
const onlyArray = 'if (!Array.isArray(v)) throw misplaced(v, "array");';

class ProjectionCompiler {
  isOpen = false;
  /** Whether variants are tried: then a part can be projected again and again, unless what came of it is remembered. */
  tries = false;
  readonly #checks: Checks;
  readonly #code = new Code();
  /** The functions of named schemas, and of others that were met before. */
  readonly #functions = new Map<SchemaNode, string>();

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  whole(node: SchemaNode): Project {
    const helpers = { jsonOf, misplaced, scalar, bytes, eachScalar, seenEmpty, copyRest };
    for (const [name, helper] of Object.entries(helpers))
      this.#code.add(`const ${name} = ${this.#code.value(helper)};`);
    this.#code.add('const s = (x) => (typeof x === "object" && x !== null ? scalar(x) : x);');
    return this.#code.run(`(v) => ${this.#expression(node, 'v')}`) as Project;
  }

  #expression(node: SchemaNode, value: string): string {
    // A named type may hold itself: its function is named before its body is written.
    return node.name === undefined
      ? this.#unnamed(node, value)
      : `${this.#functionOf(node)}(${value})`;
  }

  #unnamed(node: SchemaNode, value: string): string {
    switch (shapeOf(node)) {
      case 'scalar':
        return `s(${value})`;
      case 'bytes':
        return `bytes(${value})`;
      case 'open':
        return this.#open(value);
    }
    switch (node.kind) {
      case 'union':
        return this.#union(node, value);
      case 'intersection':
        return this.#intersection(node, value);
      case 'ref':
        return this.#expression(node.target, value);
      default:
        return `${this.#functionOf(node)}(${value})`;
    }
  }

  #open(value: string): string {
    this.isOpen = true;
    return value;
  }

  /** The name of the function of a schema. A recursive type calls it before its body is written. */
  #functionOf(node: SchemaNode): string {
    const known = this.#functions.get(node);
    if (known !== undefined) return known;
    const name = this.#code.name('p');
    this.#functions.set(node, name);
    const body = this.#body(spelledOut(node)) ?? `return ${this.#unnamed(node, 'v')};`;
    if (node.name === undefined) {
      this.#code.add(`function ${name}(v) { ${body} }`);
      return name;
    }
    const remembered = this.#code.value(this.#checks.remembered);
    this.#code.add(`const ${name} = ${remembered}(function ${name}body(v) { ${body} });`);
    return name;
  }

  #body(node: SchemaNode): string | undefined {
    if (node.kind === 'object') return this.#object(joined([node], node.rest));
    return node.kind === 'array' ? this.#array(node) : undefined;
  }

  #object(shape: ObjectShape): string {
    const { members, patterns, rest, isCounted } = shape;
    const always: string[] = [];
    const present: string[] = [];
    const keepsMore = patterns.length > 0 || takesMore(rest);
    const exact = TypeSystemPolicy.ExactOptionalPropertyTypes;
    for (const { name, node: member, isRequired } of members) {
      const key = JSON.stringify(name);
      const code = this.#expression(member, `v[${key}]`);
      // undefined is as good as absent, except to a check that counts members or takes any value for a required one.
      const mayBeUndefined =
        !isCounted && !keepsMore && !(isRequired ? code === `v[${key}]` : exact);
      if (mayBeUndefined) always.push(`${key}: ${code}`);
      else present.push(`if (v[${key}] !== undefined) o[${key}] = ${code};`);
    }
    const start = keepsMore ? this.#undeclared(shape) : `{ ${always.join(', ')} }`;
    const [first] = members;
    const isEmpty = first === undefined ? 'true' : `o[${JSON.stringify(first.name)}] === undefined`;
    return `${head}\n${notArray}\nconst o = ${start};\n${present.join('\n')}
if (${isEmpty}) seenEmpty(v, o);
return o;`;
  }

  /** A new object with the members that no name declares: those that match a pattern, and the rest. */
  #undeclared({ members, patterns, rest }: ObjectShape): string {
    const declared = new Set(members.map(({ name }) => name));
    const other = takesMore(rest) ? `(x) => ${this.#expression(rest, 'x')}` : undefined;
    if (patterns.length === 0) return `copyRest(v, ${this.#code.value(declared)}, ${other})`;
    // As in an intersection, parts of the highest rank come first: see `rankOf`.
    const ranked = patterns
      .map(({ names, node }) => ({ names, node, rank: rankOf(node) }))
      .sort((a, b) => b.rank - a.rank);
    const functions = this.#list(ranked.map(({ node }) => node));
    const copy = this.#code.value(patternCopier(ranked, declared));
    return `${copy}(v, ${functions}, ${other})`;
  }

  /** The name of an array with a function for each of the schemas. */
  #list(nodes: readonly SchemaNode[]): string {
    const name = this.#code.name('f');
    const functions = nodes.map((node) => `(v) => ${this.#expression(node, 'v')}`);
    this.#code.add(`const ${name} = [${functions.join(', ')}];`);
    return name;
  }

  #array({ prefix, rest }: ArrayNode): string {
    const start = `${head}\n${onlyArray}\n`;
    if (rest.kind === 'never' || prefix.length > 0) return start + this.#tuple(prefix, rest);
    const item = this.#expression(rest, 'v[i]');
    if (item === 'v[i]') return `${start}return v;`;
    if (item === 's(v[i])') return `${start}return eachScalar(v);`;
    return `${start}const n = v.length;\nconst o = new Array(n);
for (let i = 0; i < n; i++) o[i] = ${item};
return o;`;
  }

  /** Items beyond the declared ones are left out; one that is missing stays missing, for the check to find. */
  #tuple(prefix: readonly SchemaNode[], rest: SchemaNode): string {
    const steps = prefix.map(
      (item, index) => `if (v.length > ${index}) o.push(${this.#expression(item, `v[${index}]`)});`,
    );
    if (rest.kind !== 'never')
      steps.push(
        `for (let i = ${prefix.length}; i < v.length; i++) o.push(${this.#expression(rest, 'v[i]')});`,
      );
    return `const o = [];\n${steps.join('\n')}\nreturn o;`;
  }

  #union(node: UnionNode, value: string): string {
    const variants = variantsOf(node);
    if (variants.some(({ shape }) => shape === 'open')) return this.#open(value);
    const parts = variants.filter(({ shape }) => shape !== 'scalar' && shape !== 'bytes');
    const takesBytes = variants.some(({ shape }) => shape === 'bytes');
    const [only] = parts;
    if (only === undefined) return takesBytes ? `bytes(${value})` : `s(${value})`;
    if (parts.length === 1 && !takesBytes) return this.#expression(only.node, value);
    const { pick: picker, tries } = variantPicker(parts, takesBytes, this.#checks);
    this.tries ||= tries;
    const pick = this.#code.value(picker);
    return `${pick}(${value}, ${this.#list(parts.map((part) => part.node))})`;
  }

  /** A value is projected onto the parts that describe its members or items, and its members of all of them are kept. */
  #intersection(node: IntersectionNode, value: string): string {
    const parts = node.parts.map(resolved);
    const holding = parts.filter((part) => rankOf(part) === ranks.any);
    // A part that takes members of any name leaves none for the whole.
    const takesAll = holding.some((part) => part.kind === 'object' && takesMore(part.rest));
    const unevaluated = takesAll ? undefined : node.unevaluated;
    const shape = shapeOfAll(holding, unevaluated);
    if (shape !== undefined) {
      // `not: { required: ['a'] }` takes a member that is there as undefined for one that is there.
      const isCounted = shape.isCounted || parts.some(({ kind }) => kind === 'not');
      const name = this.#code.name('p');
      this.#code.add(`function ${name}(v) { ${this.#object({ ...shape, isCounted })} }`);
      return `${name}(${value})`;
    }
    if (takesMore(unevaluated)) return this.#open(value);
    const [only] = holding;
    if (only !== undefined && holding.length === 1) return this.#expression(only, value);
    const name = this.#code.name('p');
    const codes = holding.map((part) => this.#expression(part, 'v'));
    const join = this.#code.value(merged);
    this.#code.add(`function ${name}(v) { ${head}\nreturn ${join}([${codes.join(', ')}]); }`);
    return `${name}(${value})`;
  }
}

/** What a schema takes. Variants of a union that are references are not followed: a recursive type is one of its own. */
function shapeOf(node: SchemaNode): Shape {
  switch (node.kind) {
    case 'unknown':
    case 'not':
    case 'custom':
      return 'open';
    case 'bytes':
    case 'array':
    case 'object':
      return node.kind;
    case 'literal':
      if (isScalar(node.value)) return 'scalar';
      return Array.isArray(node.value) ? 'array' : 'object';
    case 'ref':
      return 'any';
    case 'union': {
      const shapes = new Set(node.variants.map(shapeOf));
      if (shapes.has('open')) return 'open';
      shapes.delete('scalar');
      const [only = 'scalar'] = shapes;
      return shapes.size > 1 ? 'any' : only;
    }
    case 'intersection': {
      // This ends: a check refuses a type that holds itself without a step into the value.
      const shapes = node.parts.map((part) => shapeOf(resolved(part)));
      const rank = Math.max(0, ...shapes.map((shape) => ranks[shape]));
      const [only = 'open', ...others] = new Set(shapes.filter((shape) => ranks[shape] === rank));
      return others.length > 0 ? 'any' : only;
    }
    default:
      return 'scalar';
  }
}

/**
 * A value that matches several schemas is projected onto those of the highest rank: an object is declared by the schema that
 * names its members, and not by the one beside it that takes anything.
 */
const ranks: Readonly<Record<Shape, number>> = {
  open: 0,
  scalar: 1,
  bytes: 2,
  array: 3,
  object: 3,
  any: 3,
};

function rankOf(node: SchemaNode): number {
  return ranks[shapeOf(resolved(node))];
}

/** The variants of a union and of the unions in it that have no name of their own. */
function variantsOf({ variants }: UnionNode): Variant[] {
  return variants.flatMap((node) => {
    const one = resolved(node);
    if (one.kind === 'union' && one.name === undefined) return variantsOf(one);
    const shape = shapeOf(one);
    // What such a variant takes is found by its check: the others may leave more out.
    const isTried = shape === 'open' && (one.kind === 'union' || one.kind === 'intersection');
    return [
      {
        node,
        resolved: spelledOut(one),
        shape: isTried && !takesAnything(one) ? 'any' : shape,
      },
    ];
  });
}

/**
 * The schema of the objects or arrays that a literal may be, with a literal for each of their parts. So what a literal does not
 * hold is left out, as what a schema does not declare: a value that differs from its literal may be sent.
 */
function spelledOut(node: SchemaNode): SchemaNode {
  if (node.kind !== 'literal' || isScalar(node.value)) return node;
  const { notes, value } = node;
  const rest: SchemaNode = { kind: 'never', notes: {} };
  const literal = (part: unknown): LiteralNode => ({ kind: 'literal', value: part, notes: {} });
  if (Array.isArray(value)) return { kind: 'array', notes, prefix: value.map(literal), rest };
  const members = Object.entries(value as object)
    // As elsewhere, no member has this name: to set it would set a prototype.
    .filter(([name]) => name !== '__proto__')
    .map(([name, part]): Member => ({ name, node: literal(part), isRequired: true }));
  return { kind: 'object', notes, members, patterns: [], rest };
}

/** The members of an object schema, or of several that one value matches together. */
interface ObjectShape {
  /** Each with what patterns say of its name, too. */
  readonly members: readonly Member[];
  readonly patterns: readonly NamePattern[];
  /** For members without a name or pattern of their own. undefined and `never`: they are left out. */
  readonly rest: SchemaNode | undefined;
  /** The check looks at the names of members, so that one that is absent must not be there as undefined. */
  readonly isCounted: boolean;
}

function joined(parts: readonly ObjectNode[], rest: SchemaNode | undefined): ObjectShape {
  const members = new Map<string, Member[]>();
  for (const member of parts.flatMap((part) => part.members))
    members.set(member.name, [...(members.get(member.name) ?? []), member]);
  return {
    members: [...members].map(([name, all]) => ({
      name,
      node: together(parts.flatMap((part) => describing(part, name))),
      isRequired: all.some(({ isRequired }) => isRequired),
    })),
    patterns: parts.flatMap((part) => part.patterns),
    rest,
    isCounted: parts.some(
      ({ minProperties, maxProperties, propertyNames, dependentRequired }) =>
        (minProperties ?? maxProperties ?? propertyNames ?? dependentRequired) !== undefined,
    ),
  };
}

/** What an object schema says of the member of a name. All of it has to hold. */
function describing({ members, patterns, rest }: ObjectNode, name: string): SchemaNode[] {
  const nodes = [
    ...members.filter((member) => member.name === name),
    ...patterns.filter(({ names }) => names.test(name)),
  ].map(({ node }) => node);
  return nodes.length === 0 && takesMore(rest) ? [rest] : nodes;
}

/** The shape of an intersection of objects; undefined if a part is no object, or if parts take the rest differently. */
function shapeOfAll(
  parts: readonly SchemaNode[],
  unevaluated: SchemaNode | undefined,
): ObjectShape | undefined {
  const objects = parts.filter((part) => part.kind === 'object' && part.name === undefined);
  if (objects.length !== parts.length) return undefined;
  const nodes = objects as ObjectNode[];
  const rests = nodes.map(({ rest }) => rest).filter(takesMore);
  // A member that the pattern of one part and the rest of another describe is found part by part.
  const meet =
    nodes.length > 1 && rests.length > 0 && nodes.some((node) => node.patterns.length > 0);
  return rests.length > 1 || meet ? undefined : joined(nodes, rests[0] ?? unevaluated);
}

function together(nodes: readonly SchemaNode[]): SchemaNode {
  const [only] = nodes;
  return only !== undefined && nodes.length === 1 ? only : intersectionOf(nodes);
}
