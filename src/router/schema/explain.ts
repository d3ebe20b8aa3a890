import type { TSchema } from '@sinclair/typebox';
import { suggest } from '../../base/suggest.ts';
import { isObject } from '../../jsonrpc/envelope.ts';
import type { ParamIssue } from '../types.ts';
import { lengthOf } from './bytes.ts';
import type { Checks } from './checks.ts';
import { escapePointer, kindOf, listOf } from './schema-tree.ts';
import { typeText } from './type-text.ts';

/** Limits that keep the data of a -32602 readable, and small whatever the caller sent. */
export const maxIssues = 8;
const maxSegment = 64;
const maxExpected = 300;

/**
 * Why `value` does not match `schema`: the first few issues. TypeBox's own Errors() is not used, since it matches a
 * pattern even against a string that is already too long, and takes 20 times as long on a large value.
 */
export function explain(schema: TSchema, value: unknown, checks: Checks): ParamIssue[] {
  const issues: ParamIssue[] = [];
  const explainer = new Explainer(checks, issues);
  checks.remembering(() => explainer.describe(schema, value, ''));
  return issues;
}

class Explainer {
  readonly #checks: Checks;
  readonly #issues: ParamIssue[];

  constructor(checks: Checks, issues: ParamIssue[]) {
    this.#checks = checks;
    this.#issues = issues;
  }

  refuse(schema: TSchema | undefined, value: unknown, path: string, message: string): void {
    if (this.#full) return;
    const expected = schema === undefined ? 'never' : expectedText(schema);
    this.#issues.push({ path, message, expected, received: receivedType(value) });
  }

  get #full(): boolean {
    return this.#issues.length >= maxIssues;
  }

  explain(schema: TSchema, value: unknown, path: string): void {
    if (this.#full || this.#checks.matches(schema, value)) return;
    this.describe(schema, value, path);
  }

  /** Adds the issues of a value that does not match. */
  describe(schema: TSchema, value: unknown, path: string): void {
    const before = this.#issues.length;
    switch (kindOf(schema)) {
      case 'Object':
        this.#object(schema, value, path);
        break;
      case 'Array':
        this.#array(schema, value, path);
        break;
      case 'Tuple':
        this.#tuple(schema, value, path);
        break;
      case 'Record':
        this.#record(schema, value, path);
        break;
      case 'Intersect':
        for (const part of listOf(schema.allOf)) this.explain(part, value, path);
        break;
      case 'Union':
        this.#union(schema, value, path);
        break;
      case 'Ref':
      case 'Import': {
        const target = this.#checks.resolve(schema);
        if (target !== undefined) this.explain(target, value, path);
        break;
      }
    }
    // Every part matches, so the value as a whole is at fault: its type, a length, uniqueItems, a custom kind.
    if (this.#issues.length === before) this.refuse(schema, value, path, ruleText(schema, value));
  }

  #object(schema: TSchema, value: unknown, path: string): void {
    if (!isObject(value)) return;
    const { members, names } = membersOf(schema);
    const { additionalProperties } = schema;
    for (const { name, schema: member, isRequired } of members) {
      if (this.#full) return;
      if (Object.hasOwn(value, name) && value[name] !== undefined) {
        this.explain(member, value[name], join(path, name));
      } else if (isRequired) {
        this.refuse(member, undefined, join(path, name), 'is required');
      }
    }
    if (additionalProperties !== false && !isObject(additionalProperties)) return;
    for (const name of Object.keys(value)) {
      if (this.#full) return;
      if (names.has(name)) continue;
      if (additionalProperties === false) {
        this.refuse(undefined, value[name], join(path, name), unknownText(name, names));
      } else {
        this.explain(additionalProperties as TSchema, value[name], join(path, name));
      }
    }
  }

  #array(schema: TSchema, value: unknown, path: string): void {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length && !this.#full; index += 1) {
      this.explain(schema.items as TSchema, value[index], `${path}/${index}`);
    }
  }

  #tuple(schema: TSchema, value: unknown, path: string): void {
    const items = listOf(schema.items);
    if (!Array.isArray(value) || value.length !== items.length) return;
    items.forEach((item, index) => {
      this.explain(item, value[index], `${path}/${index}`);
    });
  }

  #record(schema: TSchema, value: unknown, path: string): void {
    if (!isObject(value)) return;
    const [first] = Object.entries(schema.patternProperties as Record<string, TSchema>);
    if (first === undefined) return;
    const pattern = new RegExp(first[0]);
    const { additionalProperties } = schema;
    for (const [name, member] of Object.entries(value)) {
      if (this.#full) return;
      if (pattern.test(name)) this.explain(first[1], member, join(path, name));
      else if (additionalProperties === false) {
        this.refuse(undefined, member, join(path, name), 'has a name that is not allowed here');
      }
    }
  }

  /** Explains the variant that the caller meant, where only one can be meant. */
  #union(schema: TSchema, value: unknown, path: string): void {
    const variants = listOf(schema.anyOf);
    const [meant, ...others] = variants.filter((variant) => this.#resemble(variant, value));
    if (meant !== undefined && others.length === 0) this.explain(meant, value, path);
  }

  #resemble(variant: TSchema, value: unknown): boolean {
    const schema = this.#checks.resolve(variant) ?? variant;
    const { type } = schema;
    if (type === 'array') return Array.isArray(value);
    if (type !== 'object' || !isObject(value)) return false;
    // Literal members tell the variants apart.
    return literalsOf(schema).every(([name, literal]) => literal === value[name]);
  }
}

interface Member {
  readonly name: string;
  readonly schema: TSchema;
  readonly isRequired: boolean;
}

interface Members {
  readonly members: readonly Member[];
  readonly names: ReadonlySet<string>;
}

/** The members of each object schema are listed once: a schema may have a thousand, and a batch a thousand bad calls. */
const listed = new WeakMap<TSchema, Members>();

function membersOf(schema: TSchema): Members {
  let found = listed.get(schema);
  if (found === undefined) {
    const required = new Set(listOf<string>(schema.required));
    const properties = Object.entries(schema.properties as Record<string, TSchema>);
    const members = properties.map(([name, member]) => {
      return { name, schema: member, isRequired: required.has(name) };
    });
    found = { members, names: new Set(members.map(({ name }) => name)) };
    listed.set(schema, found);
  }
  return found;
}

const literals = new WeakMap<TSchema, readonly (readonly [name: string, value: unknown])[]>();

function literalsOf(schema: TSchema): readonly (readonly [name: string, value: unknown])[] {
  let found = literals.get(schema);
  if (found === undefined) {
    found = Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(
      ([name, member]) => ('const' in member ? [[name, member.const] as const] : []),
    );
    literals.set(schema, found);
  }
  return found;
}

function ruleText(schema: TSchema, value: unknown): string {
  const { type } = schema;
  const received = receivedType(value);
  const fits = type === received || (type === 'integer' && received === 'number');
  const rule = fits ? rules.find(({ broken }) => broken(schema, value)) : undefined;
  return rule === undefined ? `must be ${expectedText(schema)}` : rule.text(schema);
}

interface Rule {
  readonly broken: (schema: TSchema, value: unknown) => boolean;
  readonly text: (schema: TSchema) => string;
}

/** What the limits of a schema are compared with: a length, a number of members, or the number itself. */
function measure(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : Number.NaN;
}

function limit(
  keyword: string,
  broken: (size: number, bound: number) => boolean,
  text: string,
): Rule {
  return {
    broken: (schema, value) =>
      typeof schema[keyword] === 'number' && broken(measure(value), schema[keyword]),
    text: (schema) => `${text} ${String(schema[keyword])}`,
  };
}

const below = (size: number, bound: number): boolean => size < bound;
const above = (size: number, bound: number): boolean => size > bound;

const rules: readonly Rule[] = [
  {
    broken: ({ maxBytes }, value) =>
      typeof maxBytes === 'number' && lengthOf(String(value)) > maxBytes,
    text: ({ maxBytes }) => `must be at most ${String(maxBytes)} bytes`,
  },
  limit('minLength', below, 'must be a string of a length of at least'),
  limit('maxLength', above, 'must be a string of a length of at most'),
  limit('minItems', below, 'must be an array of a length of at least'),
  limit('maxItems', above, 'must be an array of a length of at most'),
  limit('minProperties', below, 'must be an object with a number of members of at least'),
  limit('maxProperties', above, 'must be an object with a number of members of at most'),
  limit('minimum', below, 'must be at least'),
  limit('maximum', above, 'must be at most'),
  limit('exclusiveMinimum', (size, bound) => size <= bound, 'must be more than'),
  limit('exclusiveMaximum', (size, bound) => size >= bound, 'must be less than'),
  {
    broken: ({ type }, value) => type === 'integer' && !Number.isInteger(value),
    text: () => 'must be an integer',
  },
  limit('multipleOf', (size, bound) => size % bound !== 0, 'must be a multiple of'),
  {
    broken: (schema) => typeof schema.format === 'string',
    text: (schema) => `must have the format ${String(schema.format)}`,
  },
  {
    broken: (schema) => typeof schema.pattern === 'string',
    text: (schema) => `must match the pattern ${String(schema.pattern)}`,
  },
  { broken: (schema) => schema.uniqueItems === true, text: () => 'must hold no item twice' },
];

/** Characters compared for one hint. One refusal has up to eight hints, and a batch up to a thousand refusals. */
const hintSteps = 300;

function unknownText(name: string, names: Iterable<string>): string {
  const near = suggest(name, names, { left: hintSteps });
  return near === undefined ? 'is not known here' : `is not known here; did you mean ${near}?`;
}

/** Appends a name to a JSON Pointer. The caller chose the name, so a long one is cut. */
function join(path: string, name: string): string {
  return `${path}/${escapePointer(name.length > maxSegment ? `${name.slice(0, maxSegment)}…` : name)}`;
}

/** The text of each schema is written once: a batch may hold a thousand bad calls. */
const texts = new WeakMap<TSchema, string>();

/** The type of a schema as text, cut to a length that fits a message. */
export function expectedText(schema: TSchema): string {
  let text = texts.get(schema);
  if (text === undefined) {
    const whole = typeText(schema, { isShort: true });
    text = whole.length > maxExpected ? `${whole.slice(0, maxExpected)}…` : whole;
    texts.set(schema, text);
  }
  return text;
}

export function receivedType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
