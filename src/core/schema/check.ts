import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { holdsParts, isPlain } from '../base/value-kinds.ts';
import { bytesFit } from './bytes.ts';
import { Code } from './code.ts';
import { type Check, type LimitedType, limitsOf } from './keywords.ts';
import {
  type ArrayNode,
  declares,
  forEachPart,
  type IntersectionNode,
  inPlace,
  isRecord,
  isScalar,
  type Member,
  mayBeUndefined,
  missingNames,
  type ObjectNode,
  type SchemaNode,
  takesAnything,
  type UnionNode,
} from './model.ts';
import { alternativesOf, overlaps } from './overlap.ts';
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
export function createChecks(root: SchemaNode, where: string) {
  const again = overlaps(root, where);
  const memory = new Memory();
  const checks = new Writer(memory).compile(root);
  const ofPart = (part: SchemaNode): Check => {
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
  };
}

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
  of<Result>(make: (value: unknown) => Result, isKept: Check = holdsParts): typeof make {
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

/** Most names that are compared one by one. More are looked up in a set. */
const fewNames = 16;
/** Of more optional members, those that a value has are checked, not all of them one by one. */
const manyMembers = 256;

class Writer {
  readonly #memory: Memory;
  readonly #code = new Code();
  readonly #functions = new Map<SchemaNode, string>();
  /** The functions of parts without parts, by their code: many members are of one type. */
  readonly #byCode = new Map<string, string>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  compile(root: SchemaNode): ReadonlyMap<SchemaNode, Check> {
    const seen = new Set<SchemaNode>();
    const visit = (node: SchemaNode): void => {
      if (seen.has(node)) return;
      seen.add(node);
      this.#functionOf(node);
      if (node.kind === 'ref') visit(node.target);
      else forEachPart(node, visit);
    };
    visit(root);
    const checks = this.#code.run(`[${[...this.#functions.values()].join()}]`) as Check[];
    return new Map(
      [...this.#functions.keys()].map((node, index) => [node, checks[index] as Check]),
    );
  }

  /** The name of the function that checks a part. It is known before its body is written: a recursive type calls it. */
  #functionOf(node: SchemaNode): string {
    let name = this.#functions.get(node);
    if (name !== undefined) return name;
    const code = node.name === undefined ? this.#valueCode(node, 'v') : undefined;
    name = (code !== undefined && this.#byCode.get(code)) || this.#code.name('f');
    this.#functions.set(node, name);
    if (code === undefined) this.#write(name, node);
    else if (!this.#byCode.has(code)) {
      this.#byCode.set(code, name);
      this.#code.add(`function ${name}(v) { return ${code}; }`);
    }
    return name;
  }

  #write(name: string, node: SchemaNode): void {
    const body = this.#body(node) ?? `return ${this.#valueCode(node, 'v') ?? 'false'};`;
    const isNamed = node.name !== undefined;
    const ofMembers = node.kind === 'object' && isRecord(node);
    if (!isNamed && !ofMembers && (node.kind !== 'array' || node.prefix.length > 0)) {
      this.#code.add(`function ${name}(v) { ${body} }`);
      return;
    }
    const memory = this.#code.value(this.#memory);
    const kept = this.#code.value(isNamed || ofMembers ? holdsParts : isLongArray);
    this.#code.add(
      `function ${name}body(v) { ${body} }
const ${name}kept = ${memory}.of(${name}body, ${kept});
function ${name}(v) { return ${memory}.isOn ? ${name}kept(v) : ${name}body(v); }`,
    );
  }

  #codeOf(node: SchemaNode, v: string): string {
    const code = node.name === undefined ? this.#valueCode(node, v) : undefined;
    return code ?? `${this.#functionOf(node)}(${v})`;
  }

  /** The code for a part without parts: a string, a number, a literal, a custom kind; undefined for others. */
  #valueCode(node: SchemaNode, v: string): string | undefined {
    if (takesAnything(node)) return 'true';
    switch (node.kind) {
      case 'never':
        return 'false';
      case 'undefined':
        return `${v} === undefined`;
      case 'void':
        return TypeSystemPolicy.AllowNullVoid
          ? `(${v} === undefined || ${v} === null)`
          : `${v} === undefined`;
      case 'null':
        return `${v} === null`;
      case 'boolean':
        return `typeof ${v} === "boolean"`;
      case 'literal':
        return isScalar(node.value)
          ? `${v} === ${JSON.stringify(node.value)}`
          : `${this.#code.value(equals(node.value), node)}(${v})`;
      case 'integer':
        return all([`Number.isInteger(${v})`, ...this.#limits(node, 'number', v)]);
      case 'number':
        return all([
          TypeSystemPolicy.AllowNaN ? `typeof ${v} === "number"` : `Number.isFinite(${v})`,
          ...this.#limits(node, 'number', v),
        ]);
      case 'string':
        return all([`typeof ${v} === "string"`, ...this.#limits(node, 'string', v)]);
      case 'bytes': {
        const check: Check = (value) => bytesFit(value, node.maxBytes);
        return `${this.#code.value(check, node)}(${v})`;
      }
      case 'custom':
        return `${this.#code.value(node.check, node)}(${v})`;
      case 'ref':
        return `${this.#functionOf(node.target)}(${v})`;
      default:
        return undefined;
    }
  }

  /** The limits that the keywords of a node set for values of a type. Those that may take long come last. */
  #limits(node: SchemaNode, type: LimitedType, v: string): string[] {
    return limitsOf(node, type).flatMap(({ row: { name, check, code, isLast }, limit }) => {
      if (check === undefined) return [];
      const call = (): string => {
        const own = check(limit as never);
        const kept = isLast ? this.#memory.of(own, isLongText) : own;
        return `${this.#code.value(kept, `${name} ${JSON.stringify(limit)}`)}(${v})`;
      };
      return code === undefined ? call() : code(v, limit as number, call);
    });
  }

  #body(node: SchemaNode): string | undefined {
    switch (node.kind) {
      case 'object':
        return this.#object(node);
      case 'array':
        return this.#array(node);
      case 'union':
        return this.#union(node);
      case 'intersection':
        return this.#intersection(node);
      case 'not':
        return `return !(${this.#codeOf(node.node, 'v')});`;
      default:
        return undefined;
    }
  }

  #object(node: ObjectNode): string {
    const { members: declared, patterns, rest, propertyNames, dependentRequired } = node;
    // Literals tell objects apart: they come before members that may be large.
    const rank = (member: Member): number => (member.node.kind === 'literal' ? 0 : 1);
    const members = declared.toSorted((a, b) => rank(a) - rank(b));
    const optional = members.filter(({ isRequired }) => !isRequired);
    const conditions = [this.#isObject(node), ...this.#limits(node, 'object', 'v')];
    for (const { name, node: member, isRequired } of members) {
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
        (member) => `[${JSON.stringify(member.name)}, ${this.#functionOf(member.node)}]`,
      );
      const table = this.#code.name('t');
      this.#code.add(`const ${table} = new Map([${checks.join(', ')}]);`);
      conditions.push(`${this.#code.value(optionalMembersFit)}(v, ${table})`);
    }
    if (dependentRequired !== undefined) {
      const missing = this.#code.value(missingNames);
      conditions.push(`${missing}(v, ${this.#code.value(dependentRequired)}).length === 0`);
    }
    if (propertyNames !== undefined)
      conditions.push(`Object.keys(v).every(${this.#functionOf(propertyNames)})`);
    const areRequired = optional.length === 0 && patterns.length === 0;
    if (rest?.kind === 'never' && areRequired) {
      // All names are there already.
      conditions.push(`Object.getOwnPropertyNames(v).length === ${members.length}`);
    } else if (patterns.length > 0 || (rest !== undefined && !takesAnything(rest))) {
      return `if (!${all(conditions)}) return false;\n${this.#eachName(node)}`;
    }
    return `return ${all(conditions)};`;
  }

  #isObject(node: ObjectNode): string {
    if (isRecord(node)) {
      // A date or bytes have no members by which a record tells them from an empty object.
      const isRecordLike: Check = (value) => TypeSystemPolicy.IsRecordLike(value);
      return `${this.#code.value(isRecordLike, 'IsRecordLike')}(v)`;
    }
    const isAny = 'typeof v === "object" && v !== null';
    return TypeSystemPolicy.AllowArrayObject ? isAny : `${isAny} && !Array.isArray(v)`;
  }

  /** Checks the members of a value by their names: against every pattern that a name matches, and the rest against `rest`. */
  #eachName({ members, patterns, rest }: ObjectNode): string {
    const names = members.map(({ name }) => name);
    const isDeclared =
      names.length > fewNames
        ? `${this.#code.value(new Set(names))}.has(k)`
        : names.map((name) => `k === ${JSON.stringify(name)}`).join(' || ') || 'false';
    const steps = patterns.map(
      ({ names: expression, node }) =>
        `if (${this.#code.value(expression)}.test(k)) { known = true; if (!(${this.#codeOf(node, 'x')})) return false; }`,
    );
    const other = rest === undefined ? 'true' : this.#codeOf(rest, 'x');
    const isRead = steps.length > 0 || other !== 'false';
    return `const names = Object.keys(v);
for (let i = 0; i < names.length; i++) {
  const k = names[i]; ${isRead ? 'const x = v[k]; ' : ''}let known = ${isDeclared};
  ${steps.join('\n  ')}
  if (!known && !(${other})) return false;
}
return true;`;
  }

  #array(node: ArrayNode): string {
    const { prefix, rest } = node;
    const conditions = ['Array.isArray(v)', ...this.#limits(node, 'array', 'v')];
    for (const [index, item] of prefix.entries()) {
      const code = this.#codeOf(item, `v[${index}]`);
      conditions.push((node.minItems ?? 0) > index ? code : `(v.length <= ${index} || ${code})`);
    }
    const last = [
      ...(node.uniqueItems === true ? [`${this.#code.value(this.#memory.areDistinct)}(v)`] : []),
      ...this.#contained(node),
    ].join(' && ');
    const item = this.#codeOf(rest, 'x');
    if (item === 'false' && (node.maxItems ?? Infinity) > prefix.length)
      conditions.push(`v.length <= ${prefix.length}`);
    const each =
      item === 'true' || item === 'false'
        ? ''
        : `for (let i = ${prefix.length}; i < v.length; i++) { const x = v[i]; if (!(${item})) return false; }\n`;
    return `if (!${all(conditions)}) return false;\n${each}return ${last || 'true'};`;
  }

  #contained({ contains, minContains = 1, maxContains = Infinity }: ArrayNode): string[] {
    if (contains === undefined) return [];
    const check = this.#functionOf(contains);
    return [`${this.#code.value(containsBetween)}(v, ${check}, ${minContains}, ${maxContains})`];
  }

  #union(node: UnionNode): string {
    const { literals, key, byKey, others } = alternativesOf(node);
    const code = (variants: readonly SchemaNode[]): string[] =>
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

  #intersection(node: IntersectionNode): string {
    const { parts, unevaluated } = node;
    const conditions = parts.map((part) => this.#codeOf(part, 'v'));
    if (unevaluated !== undefined && !takesAnything(unevaluated)) {
      const variants = new Set(
        [...inPlace(node)].flatMap((part) => (part.kind === 'union' ? part.variants : [])),
      );
      const table = this.#code.name('t');
      const entries = [...variants].map(
        (variant) => `[${this.#code.value(variant)}, ${this.#functionOf(variant)}]`,
      );
      this.#code.add(`const ${table} = new Map([${entries.join(', ')}]);`);
      const known = this.#code.value(
        (value: unknown, name: string, fits: ReadonlyMap<SchemaNode, Check>) => {
          const matches = (variant: SchemaNode): boolean => fits.get(variant)?.(value) === true;
          return parts.some((part) => declares(part, name, matches));
        },
      );
      const other = this.#codeOf(unevaluated, 'v[k]');
      conditions.push(
        `(typeof v !== "object" || v === null || Array.isArray(v) || Object.getOwnPropertyNames(v).every((k) => ${known}(v, k, ${table}) || ${other}))`,
      );
    }
    return `return ${conditions.join(' && ') || 'true'};`;
  }
}

function all(conditions: readonly string[]): string {
  return `(${conditions.join(' && ')})`;
}

function equals(literal: unknown): Check {
  // A copy: a later change to the schema's object changes no call.
  const own: unknown = JSON.parse(JSON.stringify(literal));
  return (value) => {
    const ids = new ValueIds();
    return ids.of(value) === ids.of(own);
  };
}

function containsBetween(
  items: readonly unknown[],
  check: Check,
  least: number,
  most: number,
): boolean {
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
