import { type TSchema, TypeRegistry } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { isPlain } from '../registration.ts';
import { type Check, keywordsOf, kindNamed, type LimitedType } from './keywords.ts';
import { alternativesOf, overlaps } from './overlap.ts';
import {
  cached,
  forEachChild,
  isSchema,
  kindOf,
  listOf,
  type Member,
  membersOf,
  type Names,
  namesIn,
  recordOf,
  targetOf,
} from './schema-tree.ts';
import { ValueIds } from './value-ids.ts';

/**
 * The checks of one schema and of its parts, made at registration. The time of each check is bounded by the size of the
 * value times the number of parts of the schema.
 */
export type Checks = ReturnType<typeof createChecks>;

/**
 * Compiles a schema to one function for each of its parts:
 *
 *     { id: string, tags?: string[] }
 *
 *     function f0(v) { return isObject(v) && typeof v.id === "string" && (v.tags === undefined || f1(v.tags)); }
 *     function f1(v) { … for (const x of v) if (!(typeof x === "string")) return false; return true; }
 *
 * If one part of a value could be checked against one named schema again and again, the checks remember their results.
 *
 * @throws RegistrationError for a schema that can't be checked in a bounded time
 */
export function createChecks(root: TSchema, where: string) {
  const names = namesIn(root);
  const again = overlaps(root, names, where);
  const memory = new Memory();
  const checks = new Writer(names, memory).compile(root);
  const ofPart = (part: TSchema): Check => {
    const check = checks.get(part) as Check;
    return again ? (value) => memory.during(() => check(value)) : check;
  };
  return {
    check: ofPart(root),
    ofPart,
    /** Runs `work`, in which checks remember their results. `work` must not change the values that it has checked. */
    remembering: <Result>(work: () => Result): Result => memory.during(work),
    /** A function that remembers, during such work, what it has made of arrays and objects. */
    remembered: <Result>(make: (value: unknown) => Result) => memory.of(make),
    /** The schema that a Ref, This or Import refers to. */
    resolve: (schema: TSchema): TSchema | undefined => targetOf(schema, names),
  };
}

const isObject: Check = (value) => typeof value === 'object' && value !== null;
/** To check a short array or text again is faster than to look its result up. */
const isLongArray: Check = (value) => Array.isArray(value) && value.length > 8;
const isLongText: Check = (value) => (value as string).length > 16;

/** What functions have made of values, kept while some work runs. */
class Memory {
  isOn = false;
  readonly #used: Map<unknown, unknown>[] = [];
  #ids: ValueIds | undefined;

  during<Result>(work: () => Result): Result {
    if (this.isOn) return work();
    this.isOn = true;
    try {
      return work();
    } finally {
      this.isOn = false;
      for (const known of this.#used) known.clear();
      this.#used.length = 0;
      this.#ids = undefined;
    }
  }

  /** The function with a memory for what it makes of the values that `isKept` chooses. */
  of<Result>(make: (value: unknown) => Result, isKept: Check = isObject): typeof make {
    const known = new Map<unknown, Result>();
    return (value) => {
      if (!this.isOn || !isKept(value)) return make(value);
      const before = known.get(value);
      if (before !== undefined) return before;
      const made = make(value);
      if (known.size === 0) this.#used.push(known);
      known.set(value, made);
      return made;
    };
  }

  readonly areDistinct = (items: readonly unknown[]): boolean => {
    this.#ids ??= new ValueIds();
    return this.#ids.areDistinct(items);
  };
}

/** Whether undefined may pass, so that a check of the value does not tell whether a member is there. */
function mayBeUndefined(schema: TSchema): boolean {
  if (kindOf(schema) === 'Union') return listOf(schema.anyOf).some(mayBeUndefined);
  const kind = kindNamed(kindOf(schema));
  return kind === undefined || kind.mayBeUndefined === true;
}

/** Most names that are compared one by one. More are looked up in a set. */
const fewNames = 16;
/** Of more optional members, those that a value has are checked, not all of them one by one. */
const manyMembers = 256;

class Writer {
  readonly #names: Names;
  readonly #memory: Memory;
  readonly #code = new Code();
  readonly #functions = new Map<TSchema, string>();
  /** The functions of parts without parts, by their code: many members are of one type. */
  readonly #byCode = new Map<string, string>();

  constructor(names: Names, memory: Memory) {
    this.#names = names;
    this.#memory = memory;
  }

  compile(root: TSchema): ReadonlyMap<TSchema, Check> {
    const visit = (schema: TSchema): void => {
      this.#functionOf(schema);
      forEachChild(schema, visit);
      // Those that are required and not declared are no children.
      for (const member of membersOf(schema)) this.#functionOf(member.schema);
    };
    visit(root);
    const checks = this.#code.run(`[${[...this.#functions.values()].join()}]`) as Check[];
    return new Map(
      [...this.#functions.keys()].map((schema, index) => [schema, checks[index] as Check]),
    );
  }

  /** The name of the function that checks a part. It is known before its body is written: a recursive type calls it. */
  #functionOf(schema: TSchema): string {
    // Of several schemas with one $id the first counts.
    const named = typeof schema.$id === 'string' ? (this.#names.get(schema.$id) ?? schema) : schema;
    let name = this.#functions.get(named);
    if (name === undefined) {
      const code = named.$id === undefined ? this.#valueCode(named, 'v') : undefined;
      name = (code !== undefined && this.#byCode.get(code)) || this.#code.name('f');
      this.#functions.set(named, name);
      if (code === undefined) this.#write(name, named);
      else if (!this.#byCode.has(code)) {
        this.#byCode.set(code, name);
        this.#code.add(`function ${name}(v) { return ${code}; }`);
      }
    }
    if (named !== schema) this.#functions.set(schema, name);
    return name;
  }

  #write(name: string, schema: TSchema): void {
    const kind = kindOf(schema) ?? '';
    const values = this.#values(schema, 'v').map((code) => `if (!${code}) return false;\n`);
    const own = this.#bodies[kind]?.(schema);
    const body =
      own === undefined
        ? `return ${this.#valueCode(schema, 'v') ?? 'false'};`
        : `${values.join('')}${own}`;
    const isNamed = typeof schema.$id === 'string';
    if (!isNamed && kind !== 'Array' && kind !== 'Record') {
      this.#code.add(`function ${name}(v) { ${body} }`);
      return;
    }
    const memory = this.#code.value(this.#memory);
    const kept = this.#code.value(isNamed || kind === 'Record' ? isObject : isLongArray);
    this.#code.add(
      `function ${name}body(v) { ${body} }
const ${name}kept = ${memory}.of(${name}body, ${kept});
function ${name}(v) { return ${memory}.isOn ? ${name}kept(v) : ${name}body(v); }`,
    );
  }

  #codeOf(schema: TSchema, v: string): string {
    const code = schema.$id === undefined ? this.#valueCode(schema, v) : undefined;
    return code ?? `${this.#functionOf(schema)}(${v})`;
  }

  /** The code for a part without parts: a string, a number, a literal, a custom kind; undefined for others. */
  #valueCode(schema: TSchema, v: string): string | undefined {
    const name = kindOf(schema) ?? '';
    const kind = kindNamed(name);
    if (kind?.code !== undefined) {
      const { limitedAs } = kind;
      // Of a template, TypeBox knows the pattern alone.
      const limits = name === 'TemplateLiteral' ? { pattern: schema.pattern as unknown } : schema;
      return this.#all([
        kind.code(v, schema),
        ...(limitedAs === undefined ? [] : this.#limits(limits, limitedAs, v)),
        ...this.#values(schema, v),
      ]);
    }
    if (['Ref', 'This', 'Import'].includes(name)) {
      const target = targetOf(schema, this.#names);
      if (target === undefined) return 'false';
      return this.#all([`${this.#functionOf(target)}(${v})`, ...this.#values(schema, v)]);
    }
    if (this.#bodies[name] !== undefined) return undefined;
    const check: Check = (value) => TypeRegistry.Get(name)?.(schema, value) ?? false;
    // What `enum` and `const` mean to a kind of somebody's own, only its check knows.
    const values = kind === undefined ? [] : this.#values(schema, v);
    return this.#all([`${this.#code.value(check, schema)}(${v})`, ...values]);
  }

  #all(conditions: readonly string[]): string {
    return conditions.length === 1 ? (conditions[0] as string) : `(${conditions.join(' && ')})`;
  }

  /** The limits that the keywords of the schema set for values of a type. Those that may take long come last. */
  #limits(schema: Readonly<Record<string, unknown>>, type: LimitedType, v: string): string[] {
    const rows = keywordsOf(type).filter(
      ({ name, kind, takes, check }) =>
        kind === undefined && check !== undefined && typeof schema[name] === takes,
    );
    return rows.map(({ name, check, code, isLast }) => {
      const limit: unknown = schema[name];
      if (code !== undefined) return code(v, limit);
      const own = check?.(limit as never) as Check;
      const kept = isLast ? this.#memory.of(own, isLongText) : own;
      return `${this.#code.value(kept, `${name} ${JSON.stringify(limit)}`)}(${v})`;
    });
  }

  /** `enum` and `const` beside a type. */
  #values(schema: TSchema, v: string): string[] {
    if (kindOf(schema) === 'Literal') return [];
    const lists = Array.isArray(schema.enum) ? [schema.enum as unknown[]] : [];
    if ('const' in schema) lists.push([schema.const]);
    return lists.map(
      (values) => `${this.#code.value(isOneOf(values), `enum ${JSON.stringify(values)}`)}(${v})`,
    );
  }

  readonly #bodies: Readonly<Record<string, (schema: TSchema) => string>> = {
    Object: (schema) => this.#object(schema),
    Record: (schema) => this.#record(schema),
    Array: (schema) => this.#array(schema),
    Tuple: (schema) => {
      const items = listOf(schema.items);
      const conditions = items.map((item, index) => this.#codeOf(item, `v[${index}]`));
      return `return ${this.#all([`Array.isArray(v) && v.length === ${items.length}`, ...conditions])};`;
    },
    Union: (schema) => this.#union(schema),
    Intersect: (schema) => this.#intersection(schema),
    Not: (schema) => `return !(${this.#codeOf(schema.not as TSchema, 'v')});`,
  };

  #object(schema: TSchema): string {
    // Literals tell objects apart: they come before members that may be large.
    const rank = (member: Member): number => (kindOf(member.schema) === 'Literal' ? 0 : 1);
    const members = membersOf(schema).toSorted((a, b) => rank(a) - rank(b));
    const optional = members.filter(({ isRequired }) => !isRequired);
    const conditions = [
      TypeSystemPolicy.AllowArrayObject
        ? 'typeof v === "object" && v !== null'
        : 'typeof v === "object" && v !== null && !Array.isArray(v)',
      ...this.#limits(schema, 'object', 'v'),
    ];
    for (const { name, schema: member, isRequired } of members) {
      const key = JSON.stringify(name);
      const code = this.#codeOf(member, `v[${key}]`);
      if (isRequired) conditions.push(mayBeUndefined(member) ? `${key} in v && ${code}` : code);
      else if (optional.length <= manyMembers) {
        const isAbsent = TypeSystemPolicy.ExactOptionalPropertyTypes
          ? `!(${key} in v)`
          : `v[${key}] === undefined`;
        conditions.push(`(${isAbsent} || ${code})`);
      }
    }
    if (optional.length > manyMembers) {
      const checks = optional.map(
        (member) => `[${JSON.stringify(member.name)}, ${this.#functionOf(member.schema)}]`,
      );
      const table = this.#code.name('t');
      this.#code.add(`const ${table} = new Map([${checks.join(', ')}]);`);
      conditions.push(`${this.#code.value(optionalMembersFit)}(v, ${table})`);
    }
    conditions.push(...this.#propertyNames(schema));
    const rest = this.#rest(
      schema.additionalProperties,
      Object.keys(schema.properties as object),
      optional.length === 0,
    );
    return `return ${this.#all([...conditions, ...rest])};`;
  }

  #rest(additional: unknown, names: readonly string[], areRequired: boolean): string[] {
    if (additional !== false && !isSchema(additional)) return [];
    // All names are there already.
    if (additional === false && areRequired)
      return [`Object.getOwnPropertyNames(v).length === ${names.length}`];
    const isKnown =
      names.length > fewNames
        ? [`${this.#code.value(new Set(names))}.has(k)`]
        : names.map((name) => `k === ${JSON.stringify(name)}`);
    const code = isSchema(additional) ? [this.#codeOf(additional, 'v[k]')] : [];
    return [`Object.keys(v).every((k) => ${[...isKnown, ...code].join(' || ') || 'false'})`];
  }

  #record(schema: TSchema): string {
    const isRecord = `${this.#code.value((value: unknown) => TypeSystemPolicy.IsRecordLike(value))}(v)`;
    const first = recordOf(schema);
    if (first === undefined) return `return ${isRecord};`;
    const { additionalProperties: additional } = schema;
    const other = isSchema(additional)
      ? this.#codeOf(additional, 'x')
      : String(additional !== false);
    const conditions = [
      isRecord,
      ...this.#limits(schema, 'object', 'v'),
      ...this.#propertyNames(schema),
    ];
    return `if (!(${conditions.join(' && ')})) return false;
const names = Object.keys(v);
for (let i = 0; i < names.length; i++) {
  const x = v[names[i]];
  if (!(${this.#code.value(first[0])}.test(names[i]) ? ${this.#codeOf(first[1], 'x')} : ${other})) return false;
}
return true;`;
  }

  #propertyNames({ propertyNames: names }: TSchema): string[] {
    return isSchema(names) ? [`Object.keys(v).every((k) => ${this.#codeOf(names, 'k')})`] : [];
  }

  #array(schema: TSchema): string {
    const conditions = ['Array.isArray(v)', ...this.#limits(schema, 'array', 'v')];
    const item = this.#codeOf(schema.items as TSchema, 'x');
    const each =
      item === 'true'
        ? ''
        : `for (let i = 0; i < v.length; i++) { const x = v[i]; if (!(${item})) return false; }\n`;
    const isSet =
      schema.uniqueItems === true ? [`${this.#code.value(this.#memory.areDistinct)}(v)`] : [];
    return `if (!(${conditions.join(' && ')})) return false;\n${each}return ${[...isSet, ...this.#contained(schema)].join(' && ') || 'true'};`;
  }

  #contained(schema: TSchema): string[] {
    const { contains, minContains, maxContains } = schema;
    const bounds = [minContains, maxContains].filter((bound) => typeof bound === 'number');
    if (!isSchema(contains) && bounds.length === 0) return [];
    const check = isSchema(contains) ? this.#functionOf(contains) : '() => false';
    const least = Math.max(1, typeof minContains === 'number' ? minContains : 1);
    const most = typeof maxContains === 'number' ? maxContains : Number.POSITIVE_INFINITY;
    return [`${this.#code.value(containsBetween)}(v, ${check}, ${least}, ${most})`];
  }

  #union(schema: TSchema): string {
    const { literals, key, byKey, others } = alternativesOf(schema, this.#names);
    const code = (variants: readonly TSchema[]): string[] =>
      variants.map((one) => this.#codeOf(one, 'v'));
    const scalars =
      literals.length > fewNames
        ? [`${this.#code.value(new Set(literals))}.has(v)`]
        : literals.map((literal) => `v === ${JSON.stringify(literal)}`);
    const rest = `return ${[...scalars, ...code(others)].join(' || ') || 'false'};`;
    if (key === undefined) return rest;
    const cases = [...byKey].map(
      ([tag, variants]) =>
        `case ${JSON.stringify(tag)}: if (${code(variants).join(' || ')}) return true; break;`,
    );
    return `if (typeof v === "object" && v !== null) switch (v[${JSON.stringify(key)}]) { ${cases.join('\n')} }\n${rest}`;
  }

  #intersection(schema: TSchema): string {
    const conditions = listOf(schema.allOf).map((part) => this.#codeOf(part, 'v'));
    const { unevaluatedProperties: unevaluated } = schema;
    const all = conditions.join(' && ') || 'true';
    if (unevaluated !== false && !isSchema(unevaluated)) return `return ${all};`;
    const chosen: string[] = [];
    const known = listOf(schema.allOf).map((part) => this.#declares(part, chosen) ?? 'true');
    const other = isSchema(unevaluated) ? this.#codeOf(unevaluated, 'v[k]') : 'false';
    return `if (!(${all})) return false;
if (typeof v !== "object" || v === null || Array.isArray(v)) return true;
${chosen.join('\n')}
return Object.keys(v).every((k) => ${[...known, other].join(' || ')});`;
  }

  /**
   * The code that tells whether a part of an intersection declares the member `k`; undefined: it has all names. Of a union
   * those variants count that the value matches: lines in `chosen` find that out once for each value.
   */
  #declares(schema: TSchema, chosen: string[]): string | undefined {
    const target = targetOf(schema, this.#names);
    if (target !== undefined) return this.#declares(target, chosen);
    const { additionalProperties, unevaluatedProperties } = schema;
    const isOpen = [additionalProperties, unevaluatedProperties].some(
      (rest) => rest === true || isSchema(rest),
    );
    const variants = listOf(schema.anyOf).map((variant) => {
      const inner = this.#declares(variant, chosen) ?? 'true';
      const name = this.#code.name('u');
      chosen.push(`const ${name} = ${this.#codeOf(variant, 'v')};`);
      return `(${name} && (${inner}))`;
    });
    const parts = listOf(schema.allOf).map((part) => this.#declares(part, chosen));
    if (isOpen || parts.includes(undefined)) return undefined;
    const record = kindOf(schema) === 'Record' ? recordOf(schema) : undefined;
    const names = new Set(Object.keys((schema.properties ?? {}) as object));
    const own = names.size === 0 ? [] : [`${this.#code.value(names)}.has(k)`];
    if (record !== undefined) own.push(`${this.#code.value(record[0])}.test(k)`);
    return [...own, ...variants, ...parts].join(' || ') || 'false';
  }
}

/** Whether a value equals one of a list. Arrays and objects are compared as `uniqueItems` does. */
function isOneOf(values: readonly unknown[]): Check {
  const scalars = new Set(values.filter((value) => !isObject(value)));
  const made = values.filter(isObject);
  return (value) => {
    if (!isObject(value)) return scalars.has(value);
    const ids = new ValueIds();
    const id = ids.of(value);
    return made.some((one) => ids.of(one) === id);
  };
}

function containsBetween(items: readonly unknown[], check: Check, least: number, most: number) {
  const count = items.filter((item) => check(item)).length;
  return count >= least && count <= most;
}

/**
 * Checks the optional members of a value, by the names of the value if it has few. Looking for each of a thousand members
 * takes a tenth of a millisecond, and a caller may send many small objects.
 */
function optionalMembersFit(
  value: Record<string, unknown>,
  checks: ReadonlyMap<string, Check>,
): boolean {
  const fits = (name: string, check: Check | undefined): boolean =>
    check === undefined ||
    !TypeSystemPolicy.IsExactOptionalProperty(value, name) ||
    check(value[name]);
  const names = Object.getOwnPropertyNames(value);
  // A value of a class may inherit members.
  if (isPlain(value) && names.length <= checks.size)
    return names.every((name) => fits(name, checks.get(name)));
  for (const [name, check] of checks) if (!fits(name, check)) return false;
  return true;
}

/**
 * JavaScript that is written at registration, so that a call runs code made for its schema. Its writer puts every
 * name and text of a schema through JSON.stringify, and hands in other values with `value`.
 */
export class Code {
  readonly #values = new Map<unknown, readonly [name: string, value: unknown]>();
  readonly #lines: string[] = ['"use strict";'];
  #count = 0;

  name(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }

  /** The name by which the code knows a value. @param key the same for values that may stand for each other */
  value(value: unknown, key: unknown = value): string {
    return cached(this.#values, key, () => [this.name('h'), value] as const)[0];
  }

  add(line: string): void {
    this.#lines.push(line);
  }

  /** Runs the code. @returns the value of the expression `result` */
  run(result: string): unknown {
    const values = [...this.#values.values()];
    const source = [...this.#lines, `return ${result};`].join('\n');
    // oxlint-disable-next-line typescript/no-implied-eval -- only checks and projections write it
    const run = new Function(...values.map(([name]) => name), source) as (
      ...given: unknown[]
    ) => unknown;
    return run(...values.map(([, value]) => value));
  }
}
