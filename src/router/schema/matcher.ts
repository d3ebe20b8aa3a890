import { KeyOfPattern, type TSchema } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { alternativesOf, type Scalar } from './alternatives.ts';
import { isSchema, kindOf, literalsFirst, type Names, targetOf } from './schema-tree.ts';
import { boundOf, type Check, sizeCheck, valueCheck } from './value-checks.ts';
import { ValueIds } from './value-ids.ts';

type Members = Record<string, unknown>;

const isObject: Check = (value) => typeof value === 'object' && value !== null;

/** A text on which a pattern may take longer than a look into a table of verdicts. */
const isLongText: Check = (value) => typeof value === 'string' && value.length > 16;

/** Up to so many items, checking an array again is faster than looking its verdict up in a table. */
const fewItems = 8;

/** An object schema of more members goes by the names of a small value, not by its own. */
const manyMembers = 32;

/**
 * Checks values with the same verdicts as TypeBox's compiled code. It keeps its verdicts until the scope ends, so it
 * checks no object twice against one named schema, no array twice against one array schema and no long text twice against
 * one pattern. The time is bounded by
 * the size of the value times the number of parts of the schema; the time of compiled code may double with each level.
 */
export class Matcher {
  readonly #names: Names;
  readonly #checks = new Map<TSchema, Check>();
  /** The tables of verdicts that are not empty. */
  readonly #used: Map<unknown, boolean>[] = [];
  #ids: ValueIds | undefined;
  #scopes = 0;

  /** @param names the schemas that references lead to; every reference must lead to one */
  constructor(root: TSchema, names: Names) {
    this.#names = names;
    // Built now, so that a call builds nothing.
    for (const schema of [root, ...names.values()]) this.#of(schema);
  }

  matches(schema: TSchema, value: unknown): boolean {
    return this.remembering(() => this.#of(schema)(value));
  }

  /** Keeps verdicts while `work` runs. `work` must not change a value after it was checked. */
  remembering<Result>(work: () => Result): Result {
    this.#scopes += 1;
    try {
      return work();
    } finally {
      this.#scopes -= 1;
      if (this.#scopes === 0) this.#forget();
    }
  }

  #forget(): void {
    for (const verdicts of this.#used) verdicts.clear();
    this.#used.length = 0;
    this.#ids = undefined;
  }

  #of(schema: TSchema): Check {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = this.#build(schema);
      this.#checks.set(schema, check);
    }
    return check;
  }

  #build(schema: TSchema): Check {
    if (typeof schema.$id !== 'string') return this.#body(schema);
    // Of several schemas with one $id the first counts, as in TypeBox's compiler.
    const first = this.#names.get(schema.$id);
    if (first !== undefined && first !== schema) return this.#later(first);
    return this.#remembered(this.#body(schema));
  }

  #body(schema: TSchema): Check {
    switch (kindOf(schema)) {
      case 'Object':
        return this.#object(schema);
      case 'Record':
        return this.#record(schema);
      case 'Array':
        return this.#array(schema);
      case 'Tuple':
        return this.#tuple(schema);
      case 'Union':
        return this.#union(schema);
      case 'Intersect':
        return this.#intersection(schema);
      case 'Not': {
        const check = this.#of(schema.not as TSchema);
        return (value) => !check(value);
      }
      case 'Ref':
      case 'This':
      case 'Import': {
        const target = targetOf(schema, this.#names);
        return target === undefined ? () => false : this.#later(target);
      }
      default: {
        const check = valueCheck(schema);
        return typeof schema.pattern === 'string' ? this.#remembered(check, isLongText) : check;
      }
    }
  }

  /** A check that is looked up at its first call: a recursive type refers to itself before its check is complete. */
  #later(target: TSchema): Check {
    let check: Check | undefined;
    return (value) => {
      check ??= this.#of(target);
      return check(value);
    };
  }

  #remembered(check: Check, isKept: Check = isObject): Check {
    const verdicts = new Map<unknown, boolean>();
    return (value) => {
      if (!isKept(value)) return check(value);
      const known = verdicts.get(value);
      if (known !== undefined) return known;
      const verdict = check(value);
      if (verdicts.size === 0) this.#used.push(verdicts);
      verdicts.set(value, verdict);
      return verdict;
    };
  }

  #object(schema: TSchema): Check {
    const required = new Set((schema.required ?? []) as string[]);
    const properties = schema.properties as Record<string, TSchema>;
    const members = literalsFirst(properties).map(([name, member]) => {
      return { name, check: this.#of(member), isRequired: required.has(name) };
    });
    const fits = sizeCheck(schema, 'minProperties', 'maxProperties');
    const counts = hasBound(schema, 'minProperties', 'maxProperties');
    const rest = this.#rest(schema.additionalProperties, new Set(Object.keys(properties)));
    const needed = members.filter(({ isRequired }) => isRequired);
    const optional = new Map(
      members.flatMap((member) => (member.isRequired ? [] : [[member.name, member] as const])),
    );
    return (value) => {
      if (!TypeSystemPolicy.IsObjectLike(value)) return false;
      if (counts && !fits(Object.keys(value).length)) return false;
      const few = members.length > manyMembers ? ownMembers(value, optional) : undefined;
      if (!(few === undefined ? hasMembers(value, members) : hasMembers(value, needed, few))) {
        return false;
      }
      return rest === undefined || rest(value);
    };
  }

  /** The check of the members that the schema does not name. */
  #rest(
    additional: unknown,
    known: ReadonlySet<string>,
  ): ((value: Members) => boolean) | undefined {
    if (additional === false) return (value) => Object.keys(value).every((name) => known.has(name));
    if (!isSchema(additional)) return undefined;
    const check = this.#of(additional);
    return (value) => Object.keys(value).every((name) => known.has(name) || check(value[name]));
  }

  #record(schema: TSchema): Check {
    const [first] = Object.entries((schema.patternProperties ?? {}) as Record<string, TSchema>);
    if (first === undefined) return (value) => TypeSystemPolicy.IsRecordLike(value);
    const pattern = new RegExp(first[0]);
    const check = this.#of(first[1]);
    const { additionalProperties: additional } = schema;
    const other: Check = isSchema(additional) ? this.#of(additional) : () => additional !== false;
    const fits = sizeCheck(schema, 'minProperties', 'maxProperties');
    return this.#remembered((value) => {
      if (!TypeSystemPolicy.IsRecordLike(value)) return false;
      const names = Object.keys(value);
      if (!fits(names.length)) return false;
      return names.every((name) => (pattern.test(name) ? check : other)(value[name]));
    });
  }

  #array(schema: TSchema): Check {
    const item = this.#of(schema.items as TSchema);
    const fits = sizeCheck(schema, 'minItems', 'maxItems');
    const contained = this.#contained(schema);
    const isSet = schema.uniqueItems === true;
    const check = (items: readonly unknown[]): boolean => {
      if (!fits(items.length)) return false;
      for (const one of items) if (!item(one)) return false;
      if (isSet && !this.#areDistinct(items)) return false;
      return contained === undefined || contained(items);
    };
    const remembered = this.#remembered((value) => check(value as readonly unknown[]));
    return (value) =>
      Array.isArray(value) && (value.length > fewItems ? remembered(value) : check(value));
  }

  #areDistinct(items: readonly unknown[]): boolean {
    this.#ids ??= new ValueIds();
    return this.#ids.areDistinct(items);
  }

  #contained(schema: TSchema): ((items: readonly unknown[]) => boolean) | undefined {
    if (!isSchema(schema.contains) && !hasBound(schema, 'minContains', 'maxContains'))
      return undefined;
    const check: Check = isSchema(schema.contains) ? this.#of(schema.contains) : () => false;
    const fits = sizeCheck(schema, 'minContains', 'maxContains');
    return (items) => {
      const count = items.reduce<number>((sum, item) => (check(item) ? sum + 1 : sum), 0);
      return count > 0 && fits(count);
    };
  }

  #tuple(schema: TSchema): Check {
    const checks = ((schema.items ?? []) as TSchema[]).map((item) => this.#of(item));
    return (value) =>
      Array.isArray(value) &&
      value.length === checks.length &&
      checks.every((check, index) => check(value[index]));
  }

  #union(schema: TSchema): Check {
    const { literals, key, byKey, others } = alternativesOf(schema, this.#names);
    const scalars = new Set<unknown>(literals);
    const rest = others.map((variant) => this.#of(variant));
    const byTag = new Map<unknown, readonly Check[]>(
      [...byKey].map(([tag, variants]: [Scalar, readonly TSchema[]]) => [
        tag,
        variants.map((variant) => this.#of(variant)),
      ]),
    );
    const tagged: Check = (value) => {
      if (key === undefined || typeof value !== 'object' || value === null) return false;
      return byTag.get((value as Members)[key])?.some((check) => check(value)) ?? false;
    };
    return (value) => scalars.has(value) || tagged(value) || rest.some((check) => check(value));
  }

  #intersection(schema: TSchema): Check {
    const parts = (schema.allOf as TSchema[]).map((part) => this.#of(part));
    const matchesAll: Check = (value) => parts.every((check) => check(value));
    const { unevaluatedProperties: unevaluated } = schema;
    if (unevaluated !== false && !isSchema(unevaluated)) return matchesAll;
    const known = new RegExp(KeyOfPattern(schema));
    const other: Check = isSchema(unevaluated) ? this.#of(unevaluated) : () => false;
    return (value) =>
      matchesAll(value) &&
      Object.getOwnPropertyNames(value).every(
        (name) => known.test(name) || other((value as Members)[name]),
      );
  }
}

interface Member {
  readonly name: string;
  readonly check: Check;
  readonly isRequired: boolean;
}

function hasMembers(value: Members, ...lists: readonly (readonly Member[])[]): boolean {
  for (const members of lists) {
    for (const { name, check, isRequired } of members) {
      if (isRequired) {
        if (!(name in value)) return false;
      } else if (!TypeSystemPolicy.IsExactOptionalProperty(value, name)) continue;
      if (!check(value[name])) return false;
    }
  }
  return true;
}

/**
 * The optional members that a value has, found by the names of the value. Looking for each of a thousand members takes a
 * tenth of a millisecond, and a caller may send many small objects.
 *
 * @returns undefined where the members must be looked for one by one: the value may inherit some, or has more names than they are
 */
function ownMembers(
  value: Members,
  optional: ReadonlyMap<string, Member>,
): readonly Member[] | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const names = Object.getOwnPropertyNames(value);
  if (names.length > optional.size) return undefined;
  return names.flatMap((name) => optional.get(name) ?? []);
}

function hasBound(schema: TSchema, ...keywords: readonly string[]): boolean {
  return keywords.some((keyword) => boundOf(schema, keyword) !== undefined);
}
