import type { TSchema } from '@sinclair/typebox';
import { suggest } from '../../base/suggest.ts';
import { isObject } from '../../protocol/body.ts';
import type { ParamIssue } from '../types.ts';
import type { Checks } from './checks.ts';
import { keywordsOf, type LimitedType } from './keywords.ts';
import { cached, kindOf, listOf, membersOf, recordOf, shownSegment } from './schema-tree.ts';
import { typeText } from './type-text.ts';

/** Limits that keep the data of a -32602 readable, and small whatever the caller sent. */
export const maxIssues = 8;
const maxExpected = 300;

/**
 * Why `value` does not match `schema`: the first few issues. TypeBox's own Errors() is not used, since it matches a
 * pattern even against a string that is already too long, and takes 20 times as long on a large value.
 */
export function explain(schema: TSchema, value: unknown, checks: Checks): ParamIssue[] {
  const explainer = new Explainer(checks);
  checks.remembering(() => explainer.describe(schema, value, ''));
  return explainer.issues;
}

class Explainer {
  readonly issues: ParamIssue[] = [];
  readonly #checks: Checks;

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  #refuse(schema: TSchema | undefined, value: unknown, path: string, message: string): void {
    if (this.#full) return;
    const expected = schema === undefined ? 'never' : expectedText(schema);
    this.issues.push({ path, message, expected, received: receivedType(value) });
  }

  get #full(): boolean {
    return this.issues.length >= maxIssues;
  }

  #explain(schema: TSchema, value: unknown, path: string): void {
    if (this.#full || this.#checks.ofPart(schema)(value)) return;
    this.describe(schema, value, path);
  }

  describe(schema: TSchema, value: unknown, path: string): void {
    const before = this.issues.length;
    switch (kindOf(schema)) {
      case 'Object':
      case 'Record':
        this.#members(schema, value, path);
        break;
      case 'Array':
      case 'Tuple':
        this.#items(schema, value, path);
        break;
      case 'Intersect':
        for (const part of listOf(schema.allOf)) this.#explain(part, value, path);
        break;
      case 'Union':
        this.#union(schema, value, path);
        break;
      case 'Ref':
      case 'This':
      case 'Import': {
        const target = this.#checks.resolve(schema);
        if (target !== undefined) this.#explain(target, value, path);
        break;
      }
    }
    // Every part matches, so the value as a whole is at fault: its type, a length, uniqueItems, a custom kind.
    if (this.issues.length === before) this.#refuse(schema, value, path, ruleText(schema, value));
  }

  #members(schema: TSchema, value: unknown, path: string): void {
    if (!isObject(value)) return;
    const members = membersOf(schema);
    for (const { name, schema: member, isRequired } of members) {
      if (this.#full) return;
      const place = path + shownSegment(name);
      if (Object.hasOwn(value, name) && value[name] !== undefined) {
        this.#explain(member, value[name], place);
      } else if (isRequired) {
        this.#refuse(member, undefined, place, 'is required');
      }
    }
    const { additionalProperties: rest } = schema;
    const record = kindOf(schema) === 'Record' ? recordOf(schema) : undefined;
    if (record === undefined && rest !== false && !isObject(rest)) return;
    const names = new Set(members.map(({ name }) => name));
    for (const name of Object.keys(value)) {
      if (this.#full) return;
      if (names.has(name)) continue;
      const place = path + shownSegment(name);
      if (record?.[0].test(name) === true) {
        this.#explain(record[1], value[name], place);
      } else if (rest === false) {
        const message = record && 'has a name that is not allowed here';
        this.#refuse(undefined, value[name], place, message ?? unknownText(name, names));
      } else if (record === undefined) {
        this.#explain(rest as TSchema, value[name], place);
      }
    }
  }

  #items(schema: TSchema, value: unknown, path: string): void {
    const tuple = kindOf(schema) === 'Tuple' ? listOf(schema.items) : undefined;
    if (!Array.isArray(value) || (tuple !== undefined && value.length !== tuple.length)) return;
    for (let index = 0; index < value.length && !this.#full; index += 1) {
      const item = tuple === undefined ? (schema.items as TSchema) : (tuple[index] as TSchema);
      this.#explain(item, value[index], `${path}/${index}`);
    }
  }

  /** Explains the variant that the caller meant, if only one can be meant. */
  #union(schema: TSchema, value: unknown, path: string): void {
    const variants = listOf(schema.anyOf);
    const [meant, ...others] = variants.filter((variant) => this.#resemble(variant, value));
    if (meant !== undefined && others.length === 0) this.#explain(meant, value, path);
  }

  #resemble(variant: TSchema, value: unknown): boolean {
    const schema = this.#checks.resolve(variant) ?? variant;
    const { type } = schema;
    if (type === 'array') return Array.isArray(value);
    if (type !== 'object' || !isObject(value)) return false;
    // Literal members tell the variants apart.
    return membersOf(schema).every(
      ({ name, schema: member }) => !('const' in member) || member.const === value[name],
    );
  }
}

function ruleText(schema: TSchema, value: unknown): string {
  const { type } = schema;
  const received = receivedType(value);
  const isFraction = type === 'integer' && received === 'number' && !Number.isInteger(value);
  if (type !== received && !(type === 'integer' && received === 'number'))
    return `must be ${expectedText(schema)}`;
  const broken = keywordsOf(received as LimitedType).find(({ name, takes, check, isLast }) => {
    const limit: unknown = schema[name];
    if (typeof limit !== takes || limit === false) return false;
    return isLast === true || check?.(limit as never)(value) === false;
  });
  if (isFraction && (broken === undefined || broken.name === 'multipleOf'))
    return 'must be an integer';
  return broken?.message?.(schema[broken.name]) ?? `must be ${expectedText(schema)}`;
}

/** Characters compared for one hint. One refusal has up to eight hints, and a batch up to a thousand refusals. */
const hintSteps = 300;

function unknownText(name: string, names: Iterable<string>): string {
  const near = suggest(name, names, { left: hintSteps });
  return near === undefined ? 'is not known here' : `is not known here; did you mean ${near}?`;
}

/** The text of each schema is written once: a batch may hold a thousand bad calls. */
const texts = new WeakMap<TSchema, string>();

/** The type of a schema as text, cut to a length that fits a message. */
export function expectedText(schema: TSchema): string {
  return cached(texts, schema, () => {
    const whole = typeText(schema, { isShort: true });
    return whole.length > maxExpected ? `${whole.slice(0, maxExpected)}…` : whole;
  });
}

export function receivedType(value: unknown): string {
  if (value === null) return 'null';
  // What JSON writes as null: `number` would say that it is fine.
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}
