import { PatternStringExact, type TSchema } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { RefusedPart, ResultFault } from '../result-fault.ts';
import { bytesKind } from './bytes.ts';
import type { Checks } from './checks.ts';
import { type ObjectShape, objectShape, objectShapeOfAll } from './object-shape.ts';
import { ProjectedObjects } from './projected-objects.ts';
import {
  bytes,
  copyRest,
  eachScalar,
  jsonOf,
  merged,
  misplaced,
  type Project,
  recordOf,
  scalar,
  seenEmpty,
  shapeOf,
  type Variant,
  variantPicker,
} from './projecting.ts';
import { isSchema, kindOf, listOf } from './schema-tree.ts';

/** What a result becomes before it is sent: only what `returns` declares. */
export interface Projection {
  /** @throws ResultFault for a part that no declared part can take */
  readonly project: Project;
  /** Whether a part is declared that takes values of any kind. */
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
export function compileProjection(schema: TSchema, checks: Checks): Projection {
  const writer = new Writer(checks);
  const root = writer.whole(schema);
  return {
    isOpen: writer.isOpen,
    project: (result) => {
      try {
        return writer.tries ? writer.remembering(() => root(result)) : root(result);
      } catch (error) {
        if (error instanceof RefusedPart) throw error.located(result);
        if (error instanceof RangeError)
          throw new ResultFault('the result nests too deeply, or holds itself', { cause: error });
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
  readonly #source: string[] = [];
  readonly #helpers = new Map<string, unknown>(
    Object.entries({ jsonOf, misplaced, scalar, bytes, eachScalar, seenEmpty, copyRest }),
  );
  /** The functions of named schemas, and of others that were met before. */
  readonly #functions = new Map<TSchema | string, string>();
  readonly #objects = new ProjectedObjects();
  #count = 0;

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  whole(schema: TSchema): Project {
    const root = this.#expression(schema, 'v');
    const source = `"use strict";
const s = (x) => (typeof x === "object" && x !== null ? scalar(x) : x);
${this.#source.join('\n')}
return (v) => ${root};`;
    // oxlint-disable-next-line typescript/no-implied-eval -- this file writes all of it; names go through JSON.stringify
    const make = new Function(...this.#helpers.keys(), source) as (
      ...helpers: unknown[]
    ) => Project;
    return make(...this.#helpers.values());
  }

  /** Projects each object onto each named schema once. */
  remembering<Result>(work: () => Result): Result {
    const before = this.#objects.begin();
    try {
      return this.#checks.remembering(work);
    } finally {
      this.#objects.end(before);
    }
  }

  /** The code that projects the value of the expression `value`. */
  #expression(schema: TSchema, value: string): string {
    const kind = kindOf(schema) ?? '';
    // A named type may hold itself: its function is named before its body is written.
    if (typeof schema.$id === 'string') return `${this.#functionOf(schema)}(${value})`;
    if (shapeOf(kind) === 'scalar') return `s(${value})`;
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
    const name = this.#nextName('p');
    this.#functions.set(key, name);
    const body =
      this.#bodies[kindOf(schema) ?? '']?.(schema) ??
      `return ${this.#expression(unnamed(schema), 'v')};`;
    if (typeof id !== 'string') {
      this.#source.push(`function ${name}(v) { ${body} }`);
      return name;
    }
    this.#helpers.set(`${name}once`, (project: Project, value: unknown) =>
      this.#objects.once(project, value),
    );
    this.#source.push(
      `function ${name}(v) { return ${name}once(${name}body, v); }\nfunction ${name}body(v) { ${body} }`,
    );
    return name;
  }

  #nextName(prefix: string): string {
    this.#count += 1;
    return prefix + this.#count;
  }

  #helper(prefix: string, value: unknown): string {
    const name = this.#nextName(prefix);
    this.#helpers.set(name, value);
    return name;
  }

  /** A function for each kind that holds parts. */
  readonly #bodies: Readonly<Record<string, (schema: TSchema) => string>> = {
    Object: (schema) => this.#object(objectShape(schema)),
    Array: (schema) => this.#array(schema),
    Tuple: (schema) => this.#tuple(schema),
    Record: (schema) => this.#record(schema),
  };

  #object({ properties, required, additional, isCounted }: ObjectShape): string {
    const always: string[] = [];
    const present: string[] = [];
    const keepsRest = additional === true || isSchema(additional);
    const exact = TypeSystemPolicy.ExactOptionalPropertyTypes;
    for (const [name, member] of Object.entries(properties)) {
      const key = JSON.stringify(name);
      const code = this.#expression(member, `v[${key}]`);
      const isRequired = required.has(name);
      // undefined is as good as absent, except to a check that counts members or takes any value for a required one.
      const mayBeUndefined =
        !isCounted && !keepsRest && !(isRequired ? code === `v[${key}]` : exact);
      if (mayBeUndefined) always.push(`${key}: ${code}`);
      else present.push(`if (v[${key}] !== undefined) o[${key}] = ${code};`);
    }
    const start = keepsRest
      ? `copyRest(v, ${this.#helper('names', new Set(Object.keys(properties)))}, ${this.#restOf(additional)})`
      : `{ ${always.join(', ')} }`;
    const [first] = Object.keys(properties);
    const isEmpty = first === undefined ? 'true' : `o[${JSON.stringify(first)}] === undefined`;
    return `${head}\n${notArray}\nconst o = ${start};\n${present.join('\n')}
if (${isEmpty}) seenEmpty(v, o);
return o;`;
  }

  /** The projection of members without a name of their own. */
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
    const [first] = Object.entries((schema.patternProperties ?? {}) as Record<string, TSchema>);
    if (first === undefined) return `${head}\n${notArray}\nreturn ${this.#open('v')};`;
    const { additionalProperties: additional } = schema;
    const rest =
      additional === true || isSchema(additional) ? this.#restOf(additional) : 'undefined';
    const record = this.#helper('record', recordOf(namesOf(first[0])));
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
    const pick = this.#helper('pick', picker);
    const functions = this.#nextName('f');
    const names = parts.map((part) => `(v) => ${this.#expression(part.schema, 'v')}`);
    this.#source.push(`const ${functions} = [${names.join(', ')}];`);
    return `${pick}(${value}, ${functions})`;
  }

  #variantsOf(schema: TSchema): Variant[] {
    return listOf(schema.anyOf).flatMap((variant) => {
      const resolved = this.#checks.resolve(variant) ?? variant;
      const kind = kindOf(resolved) ?? '';
      if (kind === 'Union' && resolved.$id === undefined) return this.#variantsOf(resolved);
      return [{ schema: variant, resolved, shape: shapeOf(kind) }];
    });
  }

  #intersection(schema: TSchema, value: string): string {
    const { unevaluatedProperties: unevaluated } = schema;
    const parts = listOf(schema.allOf).map((part) => this.#checks.resolve(part) ?? part);
    const shapes = parts.map((part) => shapeOf(kindOf(part) ?? ''));
    const holding = parts.filter(
      (_, index) => !['open', 'scalar', 'bytes'].includes(shapes[index] ?? ''),
    );
    if (holding.length === 0) {
      if (shapes.includes('bytes')) return `bytes(${value})`;
      return shapes.includes('scalar') ? `s(${value})` : this.#open(value);
    }
    const shape = objectShapeOfAll(holding, unevaluated);
    const name = this.#nextName('p');
    if (shape !== undefined) {
      this.#source.push(`function ${name}(v) { ${this.#object(shape)} }`);
      return `${name}(${value})`;
    }
    if (unevaluated === true || isSchema(unevaluated)) return this.#open(value);
    const codes = holding.map((part) => this.#expression(part, 'v'));
    const join = this.#helper('merged', merged);
    this.#source.push(`function ${name}(v) { ${head}\nreturn ${join}([${codes.join(', ')}]); }`);
    return `${name}(${value})`;
  }
}

function unnamed(schema: TSchema): TSchema {
  const copy = { ...schema };
  delete copy.$id;
  return copy;
}

/** The pattern of `Type.Record(Type.String(), ...)` means all names, and leaves out those with a line break. */
function namesOf(pattern: string): RegExp {
  return new RegExp(pattern, pattern === PatternStringExact ? 's' : '');
}
