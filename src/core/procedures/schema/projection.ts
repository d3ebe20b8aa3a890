import { isAnyArrayBuffer } from 'node:util/types';
import { Kind, type TSchema } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { toBase64 } from '../../schema/bytes.ts';
import { isLost, lossText, RefusedPart, ResultFault, unwritableFault } from '../result.ts';
import type { ResultRules } from '../types.ts';
import { type Checks, Code } from './checks.ts';
import { type Check, type KindRow, kindNamed } from './keywords.ts';
import { byLiteral, tagsOf } from './overlap.ts';
import { isSchema, kindOf, listOf, type Member, membersOf, recordOf } from './schema-tree.ts';
import { bytesKind } from './type.ts';

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
  schema: TSchema,
  checks: Checks,
): Pick<ResultRules, 'project' | 'isOpen'> {
  const writer = new Writer(checks);
  const root = writer.whole(schema);
  return {
    isOpen: writer.isOpen,
    project: (result) => {
      try {
        // Each object is projected onto each named schema once, however many variants lead to it.
        return writer.tries ? checks.remembering(() => root(result)) : root(result);
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

class Writer {
  isOpen = false;
  /** Whether variants are tried: then a part can be projected again and again, unless what came of it is remembered. */
  tries = false;
  readonly #checks: Checks;
  readonly #code = new Code();
  /** The functions of named schemas, and of others that were met before. */
  readonly #functions = new Map<TSchema | string, string>();

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  whole(schema: TSchema): Project {
    const helpers = { jsonOf, misplaced, scalar, bytes, eachScalar, seenEmpty, copyRest };
    for (const [name, helper] of Object.entries(helpers))
      this.#code.add(`const ${name} = ${this.#code.value(helper)};`);
    this.#code.add('const s = (x) => (typeof x === "object" && x !== null ? scalar(x) : x);');
    return this.#code.run(`(v) => ${this.#expression(schema, 'v')}`) as Project;
  }

  #expression(schema: TSchema, value: string): string {
    const kind = kindOf(schema) ?? '';
    // A named type may hold itself: its function is named before its body is written.
    if (typeof schema.$id === 'string') return `${this.#functionOf(schema)}(${value})`;
    if (shapeOf(schema) === 'scalar') return `s(${value})`;
    if (kind === bytesKind) return `bytes(${value})`;
    if (kind === 'Union') return this.#union(schema, value);
    if (kind === 'Intersect') return this.#intersection(schema, value);
    if (kind === 'Ref' || kind === 'Import' || kind === 'This') {
      const target = this.#checks.resolve(schema);
      return target === undefined ? this.#open(value) : this.#expression(target, value);
    }
    if (this.#bodies[kind] === undefined) return this.#open(value);
    return `${this.#functionOf(schema)}(${value})`;
  }

  #open(value: string): string {
    this.isOpen = true;
    return value;
  }

  /** The name of the function of a schema. A recursive type calls it before its body is written. */
  #functionOf(schema: TSchema): string {
    const id: unknown = schema.$id;
    const key = typeof id === 'string' ? id : schema;
    const known = this.#functions.get(key);
    if (known !== undefined) return known;
    const name = this.#code.name('p');
    this.#functions.set(key, name);
    const { $id: _id, ...unnamed } = schema;
    const body =
      this.#bodies[kindOf(schema) ?? '']?.(schema) ??
      `return ${this.#expression(unnamed as TSchema, 'v')};`;
    if (typeof id !== 'string') {
      this.#code.add(`function ${name}(v) { ${body} }`);
      return name;
    }
    const remembered = this.#code.value(this.#checks.remembered);
    this.#code.add(`const ${name} = ${remembered}(function ${name}body(v) { ${body} });`);
    return name;
  }

  readonly #bodies: Readonly<Record<string, (schema: TSchema) => string>> = {
    Object: (schema) => this.#object(objectShape(schema)),
    Array: (schema) => this.#array(schema),
    Tuple: (schema) => this.#tuple(schema),
    Record: (schema) => this.#record(schema),
  };

  #object({ members, additional, isCounted }: ObjectShape): string {
    const always: string[] = [];
    const present: string[] = [];
    const keepsRest = additional === true || isSchema(additional);
    const exact = TypeSystemPolicy.ExactOptionalPropertyTypes;
    for (const { name, schema: member, isRequired } of members) {
      const key = JSON.stringify(name);
      const code = this.#expression(member, `v[${key}]`);
      // undefined is as good as absent, except to a check that counts members or takes any value for a required one.
      const mayBeUndefined =
        !isCounted && !keepsRest && !(isRequired ? code === `v[${key}]` : exact);
      if (mayBeUndefined) always.push(`${key}: ${code}`);
      else present.push(`if (v[${key}] !== undefined) o[${key}] = ${code};`);
    }
    const start = keepsRest
      ? `copyRest(v, ${this.#code.value(new Set(members.map(({ name }) => name)))}, ${this.#restOf(additional)})`
      : `{ ${always.join(', ')} }`;
    const [first] = members;
    const isEmpty = first === undefined ? 'true' : `o[${JSON.stringify(first.name)}] === undefined`;
    return `${head}\n${notArray}\nconst o = ${start};\n${present.join('\n')}
if (${isEmpty}) seenEmpty(v, o);
return o;`;
  }

  #restOf(additional: unknown): string {
    return `(x) => ${isSchema(additional) ? this.#expression(additional, 'x') : this.#open('x')}`;
  }

  #array(schema: TSchema): string {
    const item = this.#expression(schema.items as TSchema, 'v[i]');
    const start = `${head}\n${onlyArray}\n`;
    if (item === 'v[i]') return `${start}return v;`;
    if (item === 's(v[i])') return `${start}return eachScalar(v);`;
    return `${start}const n = v.length;\nconst o = new Array(n);
for (let i = 0; i < n; i++) o[i] = ${item};
return o;`;
  }

  /** Items beyond the declared ones are left out; one that is missing stays missing, for the check to find. */
  #tuple(schema: TSchema): string {
    const steps = listOf(schema.items).map(
      (item, index) => `if (v.length > ${index}) o.push(${this.#expression(item, `v[${index}]`)});`,
    );
    return `${head}\n${onlyArray}\nconst o = [];\n${steps.join('\n')}\nreturn o;`;
  }

  #record(schema: TSchema): string {
    const first = recordOf(schema);
    if (first === undefined) return `${head}\n${notArray}\nreturn ${this.#open('v')};`;
    const { additionalProperties: additional } = schema;
    const rest =
      additional === true || isSchema(additional) ? this.#restOf(additional) : 'undefined';
    const record = this.#code.value(recordProjection(first[0]));
    const member = this.#expression(first[1], 'x');
    return `${head}\n${notArray}\nreturn ${record}(v, (x) => ${member}, ${rest});`;
  }

  #union(schema: TSchema, value: string): string {
    const variants = this.#variantsOf(schema);
    if (variants.some(({ shape }) => shape === 'open')) return this.#open(value);
    const parts = variants.filter(({ shape }) => shape !== 'scalar' && shape !== 'bytes');
    const takesBytes = variants.some(({ shape }) => shape === 'bytes');
    const [only] = parts;
    if (only === undefined) return takesBytes ? `bytes(${value})` : `s(${value})`;
    if (parts.length === 1 && !takesBytes) return this.#expression(only.schema, value);
    const { pick: picker, tries } = variantPicker(parts, takesBytes, this.#checks);
    this.tries ||= tries;
    const pick = this.#code.value(picker);
    const functions = this.#code.name('f');
    const names = parts.map((part) => `(v) => ${this.#expression(part.schema, 'v')}`);
    this.#code.add(`const ${functions} = [${names.join(', ')}];`);
    return `${pick}(${value}, ${functions})`;
  }

  #variantsOf(schema: TSchema): Variant[] {
    return listOf(schema.anyOf).flatMap((variant) => {
      const resolved = this.#checks.resolve(variant) ?? variant;
      const kind = kindOf(resolved) ?? '';
      if (kind === 'Union' && resolved.$id === undefined) return this.#variantsOf(resolved);
      return [{ schema: variant, resolved, shape: shapeOf(resolved) }];
    });
  }

  #intersection(schema: TSchema, value: string): string {
    const { unevaluatedProperties: unevaluated } = schema;
    const parts = listOf(schema.allOf).map((part) => this.#checks.resolve(part) ?? part);
    const shapes = parts.map(shapeOf);
    const holding = parts.filter(
      (_, index) => !['open', 'scalar', 'bytes'].includes(shapes[index] ?? ''),
    );
    if (holding.length === 0) {
      if (shapes.includes('bytes')) return `bytes(${value})`;
      return shapes.includes('scalar') ? `s(${value})` : this.#open(value);
    }
    const shape = objectShapeOfAll(holding, unevaluated);
    const name = this.#code.name('p');
    if (shape !== undefined) {
      this.#code.add(`function ${name}(v) { ${this.#object(shape)} }`);
      return `${name}(${value})`;
    }
    if (unevaluated === true || isSchema(unevaluated)) return this.#open(value);
    const codes = holding.map((part) => this.#expression(part, 'v'));
    const join = this.#code.value(merged);
    this.#code.add(`function ${name}(v) { ${head}\nreturn ${join}([${codes.join(', ')}]); }`);
    return `${name}(${value})`;
  }
}

function shapeOf(schema: TSchema): KindRow['shape'] {
  return kindNamed(kindOf(schema))?.shape ?? 'open';
}

/** The members of an object schema, or of several that one value matches together. */
interface ObjectShape {
  readonly members: readonly Member[];
  /** `true` or a schema: members without a name of their own are taken. */
  readonly additional: unknown;
  /** The check counts members, so that one that is absent must not be there as undefined. */
  readonly isCounted: boolean;
}

function objectShape(schema: TSchema): ObjectShape {
  return {
    members: membersOf(schema),
    additional: schema.additionalProperties,
    isCounted: schema.minProperties !== undefined || schema.maxProperties !== undefined,
  };
}

/** The shape of an intersection of objects; undefined if a part is no object, or if parts take the rest differently. */
function objectShapeOfAll(
  parts: readonly TSchema[],
  unevaluated: unknown,
): ObjectShape | undefined {
  if (!parts.every((part) => kindOf(part) === 'Object' && part.$id === undefined)) return undefined;
  const shapes = parts.map(objectShape);
  const rests = [unevaluated, ...shapes.map(({ additional }) => additional)].filter(
    (rest) => rest === true || isSchema(rest),
  );
  if (rests.length > 1) return undefined;
  const members = new Map<string, Member[]>();
  for (const member of shapes.flatMap((shape) => shape.members))
    members.set(member.name, [...(members.get(member.name) ?? []), member]);
  return {
    members: [...members].map(([name, all]) => ({
      name,
      schema: together(all.map(({ schema }) => schema)),
      isRequired: all.some(({ isRequired }) => isRequired),
    })),
    additional: rests[0],
    isCounted: shapes.some(({ isCounted }) => isCounted),
  };
}

function together(schemas: readonly TSchema[]): TSchema {
  const [only] = schemas;
  if (only !== undefined && schemas.length === 1) return only;
  return { [Kind]: 'Intersect', allOf: schemas } as unknown as TSchema;
}

// What the compiled code of a projection calls. Its values are parts of a result, of which nothing is known yet.

type Project = (value: unknown) => unknown;
type Members = Record<string, unknown>;

interface Variant {
  /** As the union names it. */
  readonly schema: TSchema;
  readonly resolved: TSchema;
  readonly shape: KindRow['shape'];
}

/** @param declared what stands in `returns` instead of the part */
function misplaced(part: object, declared: string): RefusedPart {
  return refused(part, ` where returns declares an ${declared}`);
}

function refused(part: object, why: string): RefusedPart {
  return new RefusedPart(part, isLost(part) ? lossText(part) : why);
}

/** An object where no object is declared: one that says what it is in JSON, such as a Date, may be a text or a number. */
function scalar(part: object): unknown {
  const value = jsonOf(part);
  if (typeof value !== 'object' || value === null) return value;
  throw refused(part, ' where returns declares neither an object nor an array');
}

function bytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return toBase64(value);
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value))
    throw new RefusedPart(value, ' where returns declares bytes: return a Uint8Array of it');
  return typeof value === 'object' && value !== null ? scalar(value) : value;
}

/** What an object says it is in JSON: a Buffer would say that it is an object of numbers. */
function jsonOf(part: object): unknown {
  if (ArrayBuffer.isView(part)) throw new RefusedPart(part, lossText(part));
  const { toJSON } = part as { toJSON?: unknown };
  return typeof toJSON === 'function' ? (toJSON.call(part, '') as unknown) : part;
}

/** The items of an array of scalars: the array itself if none of them is an object. */
function eachScalar(items: readonly unknown[]): readonly unknown[] {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item === 'object' && item !== null)
      return items.map((one) => (typeof one === 'object' && one !== null ? scalar(one) : one));
  }
  return items;
}

/** Refuses an object of which JSON keeps nothing, such as a Map, if none of the declared members was found in it. */
function seenEmpty(part: object, projected: object): void {
  if (!isLost(part)) return;
  for (const member of Object.values(projected)) if (member !== undefined) return;
  throw new RefusedPart(part, lossText(part));
}

/** A copy of an object with the members that are not in `names`, each projected. */
function copyRest(part: object, names: ReadonlySet<string>, project: Project): Members {
  const copy: Members = {};
  for (const [name, value] of Object.entries(part)) {
    if (!names.has(name)) put(copy, name, project(value));
  }
  return copy;
}

/** The projection of a record. `rest` is for names that do not match the pattern; undefined leaves them out. */
function recordProjection(
  names: RegExp,
): (part: object, member: Project, rest: Project | undefined) => Members {
  return (part, member, rest) => {
    if (ArrayBuffer.isView(part)) throw new RefusedPart(part, lossText(part));
    const copy: Members = {};
    let count = 0;
    for (const [name, value] of Object.entries(part)) {
      const project = names.test(name) ? member : rest;
      if (project === undefined || value === undefined) continue;
      put(copy, name, project(value));
      count++;
    }
    if (count === 0) seenEmpty(part, copy);
    return copy;
  };
}

function put(object: Members, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  else object[name] = value;
}

/**
 * Chooses the variants of a union by a literal that tells them apart, else by their checks. A value that several variants
 * match is sent with the members of all of them. One that none matches keeps no name that none of them declares.
 *
 * @returns tries: whether a value may have to be projected onto several variants before one is known to match
 */
function variantPicker(variants: readonly Variant[], takesBytes: boolean, checks: Checks) {
  const indexes = variants.map((_, index) => index);
  const shaped = (shape: string): number[] =>
    indexes.filter((index) => [shape, 'any'].includes(variants[index]?.shape ?? ''));
  const arrays = shaped('array');
  const objects = shaped('object');
  const { key, byKey, others } = byLiteral(objects, (index) =>
    tagsOf((variants[index] as Variant).resolved),
  );
  // A literal tells the objects apart if all of them have it.
  const tag = others.length === 0 ? key : undefined;
  const candidatesFor = (part: object): readonly number[] => {
    if (Array.isArray(part)) return arrays;
    return (tag === undefined ? undefined : byKey.get((part as Members)[tag])) ?? objects;
  };
  const matching = variants.map(({ schema }) => checks.ofPart(schema));
  const pick = (value: unknown, projects: readonly Project[]): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (takesBytes && value instanceof Uint8Array) return toBase64(value);
    const part = jsonOf(value);
    if (typeof part !== 'object' || part === null) return part;
    const candidates = candidatesFor(part);
    const [only] = candidates;
    if (only === undefined) throw misplaced(part, Array.isArray(part) ? 'object' : 'array');
    if (candidates.length === 1) return (projects[only] as Project)(part);
    return tryEach(part, candidates, projects, matching);
  };
  const groups = [arrays, ...(tag === undefined ? [objects] : byKey.values())];
  return { pick, tries: groups.some((group) => group.length > 1) };
}

function tryEach(
  part: object,
  candidates: readonly number[],
  projects: readonly Project[],
  checks: readonly Check[],
): unknown {
  const all: unknown[] = [];
  const matching: unknown[] = [];
  let refused: unknown;
  for (const index of candidates) {
    try {
      const projected = (projects[index] as Project)(part);
      all.push(projected);
      if ((checks[index] as Check)(projected)) matching.push(projected);
    } catch (error) {
      if (!(error instanceof RefusedPart)) throw error;
      refused = error;
    }
  }
  if (all.length === 0) throw refused;
  return merged(matching.length > 0 ? matching : all);
}

/** Projections of one value, with the members of all of them. */
function merged(projections: readonly unknown[]): unknown {
  return projections.reduce(mergeTwo);
}

function mergeTwo(one: unknown, other: unknown): unknown {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one;
  if (one === other) return one;
  if (Array.isArray(one)) {
    return Array.isArray(other) ? one.map((item, index) => mergeTwo(item, other[index])) : one;
  }
  const joined: Members = {};
  for (const [name, value] of [...Object.entries(other), ...Object.entries(one)]) {
    const given = Object.hasOwn(joined, name) ? joined[name] : undefined;
    if (given === undefined || value !== undefined)
      put(joined, name, given === undefined ? value : mergeTwo(value, given));
  }
  return joined;
}
