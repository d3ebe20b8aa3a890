/**
 * `npm run test:json-schema -- DIR`: runs the cases of a checkout of the official JSON-Schema-Test-Suite, `tests/draft2020-12`,
 * that TypeBox can express. Each schema becomes a member of the params of a procedure, which is called with each value: it
 * is accepted, or refused with -32602. Prints right and wrong verdicts, schemas that registration refuses and those that
 * TypeBox cannot express, by reason. Exits with 1 on a wrong verdict.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Kind, type TSchema } from '@sinclair/typebox';
import { createCaller, RegistrationError, Router, Type } from '../src/index.ts';

type Json = Readonly<Record<string, unknown>>;

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { description: string; data: unknown; valid: boolean }[];
}

/** Files of the suite whose subject TypeBox has no word for, or where Tandem differs as its pages say. */
const leftOut: Readonly<Record<string, string>> = {
  'format.json': 'format is an annotation there',
  'vocabulary.json': 'vocabularies',
  'refRemote.json': '$ref to other files',
};

class Inexpressible extends Error {}

const types = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;
/** What TypeBox calls them: Null, Boolean, ... */
const kinds: ReadonlyMap<unknown, string> = new Map(
  [...types, 'integer'].map((type) => [type, `${type.charAt(0).toUpperCase()}${type.slice(1)}`]),
);

/** The keywords that are about values of one type. */
const typeOfKeyword: ReadonlyMap<string, string> = new Map(
  Object.entries({
    number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    string: 'minLength maxLength pattern format contentEncoding contentMediaType contentSchema',
    array:
      'items prefixItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems',
    object:
      'properties patternProperties additionalProperties propertyNames required minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties',
  }).flatMap(([type, names]) => names.split(' ').map((name) => [name, type] as const)),
);
const maps = ['properties', 'patternProperties', 'dependentSchemas'];
const lists = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const singles =
  'items contains additionalProperties propertyNames unevaluatedProperties unevaluatedItems not if then else contentSchema'.split(
    ' ',
  );
const annotations =
  'title description default examples deprecated readOnly writeOnly $comment $schema $defs definitions';
const silent = new Set(annotations.split(' '));

class Expression {
  readonly #root: unknown;
  /** The schemas that references lead to, as members of a module; undefined: one that is being read. */
  readonly #named = new Map<string, TSchema | undefined>();

  constructor(root: unknown) {
    this.#root = root;
  }

  whole(): TSchema {
    const schema = this.#express(this.#root);
    if (this.#named.size === 0) return schema;
    const members = Object.fromEntries(this.#named) as Record<string, TSchema>;
    return Type.Module({ ...members, whole: schema }).Import('whole');
  }

  #express(json: unknown): TSchema {
    if (json === true) return Type.Unknown();
    if (json === false) return Type.Never();
    const schema = json as Json;
    for (const name of Object.keys(schema))
      if (/^\$(?:id|anchor|dynamic|recursive|vocabulary)/.test(name)) throw new Inexpressible(name);
    const { $ref, type, enum: values, anyOf, allOf, oneOf, not, ...others } = schema;
    const parts: TSchema[] = [];
    if (typeof $ref === 'string') parts.push(this.#reference($ref));
    if (type !== undefined) return this.#joined([...parts, this.#typed(schema, type)], schema);
    if ('const' in schema) parts.push(literal(schema.const));
    if (Array.isArray(values)) parts.push(Type.Union(values.map(literal)));
    if (Array.isArray(anyOf)) parts.push(Type.Union(anyOf.map((one) => this.#express(one))));
    if (Array.isArray(allOf)) parts.push(Type.Intersect(allOf.map((one) => this.#express(one))));
    if (Array.isArray(oneOf)) throw new Inexpressible('oneOf without a type');
    if (not !== undefined) parts.push(Type.Not(this.#express(not)));
    const named = Object.keys(others).filter((name) => name !== 'const' && !silent.has(name));
    const isJoined = parts.length > 0 && 'unevaluatedProperties' in schema;
    const own = named.filter((name) => !(isJoined && name === 'unevaluatedProperties'));
    if (own.length > 0) {
      const ofType = new Set(own.map((name) => typeOfKeyword.get(name)));
      const kept = Object.fromEntries(own.map((name) => [name, others[name]]));
      if (ofType.has(undefined)) parts.push(Type.Unknown(this.#options(kept)));
      else parts.push(Type.Union(types.map((one) => this.#built(one, kept))));
    }
    return this.#joined(parts, isJoined ? schema : {});
  }

  #joined(parts: readonly TSchema[], { unevaluatedProperties: rest }: Json): TSchema {
    const [only] = parts;
    if (only !== undefined && parts.length === 1 && rest === undefined) return only;
    if (parts.length === 0) return Type.Unknown();
    if (parts.length === 1 && only?.type !== undefined) return only;
    const unevaluatedProperties = typeof rest === 'boolean' ? rest : rest && this.#express(rest);
    return Type.Intersect(
      [...parts],
      unevaluatedProperties === undefined
        ? {}
        : { unevaluatedProperties: unevaluatedProperties as TSchema },
    );
  }

  #reference($ref: string): TSchema {
    if (!/^#(?:\/\$defs\/[^/]+)?$/.test($ref))
      throw new Inexpressible('$ref elsewhere than to # or #/$defs/name');
    const name = decodeURIComponent($ref.split('/')[2] ?? '')
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
    const target =
      $ref === '#' ? this.#root : ((this.#root as Json).$defs as Json | undefined)?.[name];
    if (target === undefined) throw new Inexpressible('$ref that leads nowhere');
    const member = $ref === '#' ? 'root' : `d_${name}`;
    if (!this.#named.has(member)) {
      this.#named.set(member, undefined);
      this.#named.set(member, this.#express(target));
    }
    return Type.Ref(member);
  }

  #typed(schema: Json, type: unknown): TSchema {
    const { type: _type, $ref: _ref, ...own } = schema;
    if (Array.isArray(type)) return Type.Union(type.map((one) => this.#built(one, own)));
    return this.#built(type, own);
  }

  /** Every keyword is handed on; those of other types are harmless. */
  #built(type: unknown, keywords: Json): TSchema {
    const kind = kinds.get(type);
    if (kind === undefined) throw new Inexpressible(`type ${String(type)}`);
    const { properties = {}, required = [], ...others } = this.#options(keywords);
    if (kind === 'Array') return Type.Array((others.items as TSchema) ?? Type.Unknown(), others);
    if (kind !== 'Object') return { [Kind]: kind, type, ...others } as unknown as TSchema;
    const names = required as readonly string[];
    const members = Object.entries(properties as Record<string, TSchema>).map(
      ([name, member]) => [name, names.includes(name) ? member : Type.Optional(member)] as const,
    );
    return { ...Type.Object(Object.fromEntries(members), others), required: [...names] };
  }

  #options(keywords: Json): Record<string, unknown> {
    const read = ([name, value]: [string, unknown]): readonly [string, unknown] => {
      const express = (one: unknown): TSchema => this.#express(one);
      if (maps.includes(name))
        return [
          name,
          Object.fromEntries(
            Object.entries(value as object).map(([key, one]) => [key, express(one)]),
          ),
        ];
      if (lists.includes(name)) return [name, (value as unknown[]).map(express)];
      const isFlag = typeof value === 'boolean' && /^(?:additional|unevaluated)Prop/.test(name);
      return [name, singles.includes(name) && !isFlag ? express(value) : value];
    };
    const kept = Object.entries(keywords).filter(
      ([name]) => !silent.has(name) || name === 'default',
    );
    return Object.fromEntries(kept.map(read));
  }
}

function literal(value: unknown): TSchema {
  if (value === null) return Type.Null();
  if (typeof value === 'object')
    throw new Inexpressible('const or enum of an array or object, without a type');
  return Type.Literal(value as string);
}

async function main(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [directory] = positionals;
  if (directory === undefined)
    throw new Error('usage: npm run test:json-schema -- DIR (tests/draft2020-12 of the suite)');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  let right = 0;
  const wrong: string[] = [];
  const refused = new Map<string, number>();
  const inexpressible = new Map<string, number>();
  const count = (reasons: Map<string, number>, reason: string, { tests }: Group): void =>
    void reasons.set(reason, (reasons.get(reason) ?? 0) + tests.length);
  for (const file of files.filter((name) => name.endsWith('.json')).sort()) {
    for (const group of JSON.parse(readFileSync(join(directory, file), 'utf8')) as Group[]) {
      const why =
        leftOut[file] ??
        (basename(file) === 'hostname.json' && /A-label/i.test(group.description)
          ? 'A-labels'
          : undefined);
      if (why !== undefined) {
        count(inexpressible, why, group);
        continue;
      }
      let call: (value: unknown) => Promise<boolean>;
      try {
        call = procedureWith(new Expression(group.schema).whole());
      } catch (error) {
        if (error instanceof Inexpressible) count(inexpressible, error.message, group);
        else if (error instanceof RegistrationError) count(refused, reasonOf(error), group);
        else count(inexpressible, `TypeBox: ${(error as Error).message}`, group);
        continue;
      }
      for (const { description, data, valid } of group.tests) {
        if ((await call(data)) === valid) right += 1;
        else
          wrong.push(
            `${file}: ${group.description}: ${description}: should be ${valid ? 'accepted' : 'refused'}`,
          );
      }
    }
  }
  const sum = (reasons: Map<string, number>): number =>
    [...reasons.values()].reduce((all, one) => all + one, 0);
  console.log(`right          ${right}\nwrong          ${wrong.length}`);
  for (const line of wrong) console.log(`    ${line}`);
  for (const [title, reasons] of [
    ['refused       ', refused],
    ['inexpressible ', inexpressible],
  ] as const) {
    console.log(`${title} ${sum(reasons)}`);
    for (const [reason, cases] of [...reasons].sort(([, a], [, b]) => b - a))
      console.log(`    ${cases}  ${reason}`);
  }
  if (wrong.length > 0) process.exitCode = 1;
}

function procedureWith(schema: TSchema): (value: unknown) => Promise<boolean> {
  const router = new Router();
  router.rpc({ name: 'p', params: Type.Object({ value: schema }) }, () => null);
  const caller = createCaller(router, {});
  return async (value) => {
    try {
      await caller.call('p', { value });
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code === -32602) return false;
      throw error;
    }
  };
}

/** The fault alone, without the place and without what is about one schema. */
function reasonOf({ message }: RegistrationError): string {
  return message
    .replace(/^procedure "p": params(?: at \S*)?: /, '')
    .replace(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .slice(0, 110);
}

await main();
