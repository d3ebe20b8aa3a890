/**
 * `npm run test:json-schema -- DIR`: runs the cases of a checkout of the official JSON-Schema-Test-Suite, `tests/draft2020-12`,
 * that TypeBox can express. Each schema becomes a member of the params of a procedure, which is called with each value: it
 * is accepted, or refused with -32602. Prints right and wrong verdicts, schemas that registration refuses and those that
 * TypeBox cannot express, by reason. Exits with 1 on a wrong verdict.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kind, type TSchema } from '@sinclair/typebox';
import { createCaller, RegistrationError, Router, Type } from '../src/index.ts';
import { main } from './script.ts';

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

const types = ['null', 'boolean', 'number', 'string', 'array', 'object'];
const maps = ['properties', 'patternProperties', 'dependentSchemas'];
const lists = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const singles =
  /^(?:items|contains|(?:additional|unevaluated)Properties|propertyNames|unevaluatedItems|not|if|then|else|contentSchema)$/;
/** Keywords that are about values of every type, or about none. */
const ofAnyType =
  /^(?:type|const|enum|anyOf|allOf|oneOf|not|if|then|else|default|\$ref|unevaluated\w+)$/;
const silent =
  /^(?:title|description|examples|deprecated|readOnly|writeOnly|\$comment|\$schema|\$defs|definitions)$/;

// The reader takes the type from `type`, not from TypeBox's kind, which must be there.
const kinded = (schema: object) => ({ ...schema, [Kind]: 'Unknown' }) as unknown as TSchema;

/** A schema as TypeBox has it: each part of it has a kind, and its references lead to members of a module. */
function expressed(root: unknown): TSchema {
  /** The schemas that references lead to; undefined: one that is being read. */
  const named = new Map<string, TSchema | undefined>();

  const part = (json: unknown): TSchema => {
    if (typeof json === 'boolean') return json ? Type.Unknown() : Type.Never();
    const read = ([name, value]: [string, unknown]): [string, unknown] => {
      if (/^\$(?:id|anchor|dynamic|recursive|vocabulary)/.test(name)) throw new Inexpressible(name);
      if (name === '$ref') return [name, reference(String(value))];
      if (maps.includes(name)) {
        const members = Object.entries(value as Json).map(([key, one]) => [key, part(one)]);
        return [name, Object.fromEntries(members)];
      }
      if (lists.includes(name)) return [name, (value as unknown[]).map(part)];
      const isFlag = typeof value === 'boolean' && name.endsWith('Properties');
      return [name, singles.test(name) && !isFlag ? part(value) : value];
    };
    const keywords = Object.entries(json as Json).filter(([name]) => !silent.test(name));
    const own = Object.fromEntries(keywords.map(read));
    const { unevaluatedProperties } = own;
    // TypeBox has it at intersections, where it takes none of undeclared members, or those of a schema.
    const isSplit = (unevaluatedProperties ?? true) !== true;
    if (isSplit) delete own.unevaluatedProperties;
    // Keywords of one type let all values of other types pass.
    const isTyped = Object.keys(own).every((name) => ofAnyType.test(name));
    const type = own.type ?? (isTyped ? undefined : types);
    const items = [type].flat().includes('array') ? { items: Type.Unknown() } : {};
    const schema = kinded({ ...items, ...own, type });
    return isSplit ? kinded({ allOf: [schema], unevaluatedProperties }) : schema;
  };

  const reference = ($ref: string): string => {
    if (!/^#(?:\/\$defs\/[^/]+)?$/.test($ref))
      throw new Inexpressible('$ref elsewhere than to # or #/$defs/name');
    const name = decodeURIComponent($ref.split('/')[2] ?? '')
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
    const target = $ref === '#' ? root : ((root as Json).$defs as Json | undefined)?.[name];
    if (target === undefined) throw new Inexpressible('$ref that leads nowhere');
    const member = $ref === '#' ? 'root' : `d_${name}`;
    if (!named.has(member)) {
      named.set(member, undefined);
      named.set(member, part(target));
    }
    return member;
  };

  const whole = part(root);
  if (named.size === 0) return whole;
  const members = { ...Object.fromEntries(named), whole } as Record<string, TSchema>;
  return { [Kind]: 'Import', $defs: members, $ref: 'whole' } as unknown as TSchema;
}

/** @returns a function that tells whether a value is accepted as the member of the params that has the schema */
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

await main(async () => {
  const [directory] = process.argv.slice(2);
  if (directory === undefined)
    throw new Error('usage: npm run test:json-schema -- DIR (tests/draft2020-12 of the suite)');
  let right = 0;
  const wrong: string[] = [];
  const refused = new Map<string, number>();
  const inexpressible = new Map<string, number>();
  const runGroup = async (file: string, { description, schema, tests }: Group): Promise<void> => {
    const count = (reasons: Map<string, number>, reason: string): void =>
      void reasons.set(reason, (reasons.get(reason) ?? 0) + tests.length);
    const isPunycode = /(?:^|\/)hostname\.json$/.test(file) && /A-label/i.test(description);
    const why = leftOut[file] ?? (isPunycode ? 'A-labels' : undefined);
    if (why !== undefined) return count(inexpressible, why);
    let call: (value: unknown) => Promise<boolean>;
    try {
      call = procedureWith(expressed(schema));
    } catch (error) {
      if (error instanceof RegistrationError) return count(refused, reasonOf(error));
      if (error instanceof Inexpressible) return count(inexpressible, error.message);
      throw error;
    }
    for (const { description: what, data, valid } of tests) {
      if ((await call(data)) === valid) right += 1;
      else
        wrong.push(`${file}: ${description}: ${what}: should be ${valid ? 'accepted' : 'refused'}`);
    }
  };
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.json')).sort())
    for (const group of JSON.parse(readFileSync(join(directory, file), 'utf8')) as Group[])
      await runGroup(file, group);
  console.log(`right ${right}\nwrong ${wrong.length}`);
  for (const line of wrong) console.log(`    ${line}`);
  for (const [title, reasons] of Object.entries({ refused, inexpressible })) {
    console.log(`${title} ${[...reasons.values()].reduce((sum, one) => sum + one, 0)}`);
    for (const [reason, cases] of [...reasons].sort(([, a], [, b]) => b - a))
      console.log(`    ${cases}  ${reason}`);
  }
  if (wrong.length > 0) process.exitCode = 1;
});
