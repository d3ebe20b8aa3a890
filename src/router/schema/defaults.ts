import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../jsonrpc/envelope.ts';
import { RegistrationError } from '../registration-error.ts';
import { bytesKind, fromBase64 } from './bytes.ts';
import type { Checks } from './checks.ts';
import {
  escapePointer,
  forEachChild,
  holdsDefault,
  holdsName,
  kindOf,
  listOf,
} from './schema-tree.ts';

/** Fills the defaults into a valid value and decodes its bytes. Returns the value itself where nothing was missing, else a copy. Mutates nothing. */
export type Fill = (value: unknown) => unknown;

type Members = Record<string, unknown>;

/**
 * Compiles the defaults of a schema, nested ones included.
 *
 * @returns undefined for a schema without defaults and bytes: its calls pay nothing
 * @throws RegistrationError for a default that is not a JSON value, or does not match its own schema
 */
export function compileDefaults(schema: TSchema, checks: Checks, where: string): Fill | undefined {
  if (!holdsDefault(schema) && !holdsBytes(schema)) return undefined;
  const compiler = new Compiler(checks, where);
  const fill = compiler.compile(schema, '');
  compiler.assertFinite();
  if (fill === undefined || !holdsName(schema)) return fill;
  return (value) => checks.remembering(() => compiler.remembering(() => fill(value)));
}

/** Most arrays and objects that are made for one missing member: its default, and the defaults within that default. */
const maxMade = 256;

interface MemberStep {
  readonly name: string;
  readonly fill: Fill | undefined;
  readonly missing: (() => unknown) | undefined;
}

class Compiler {
  readonly #checks: Checks;
  readonly #where: string;
  /** By `$id`. The entry of a recursive schema is made before its fill is complete. */
  readonly #named = new Map<string, Fill>();
  /**
   * What each named schema has made of the arrays and objects of this call. The parts of an intersection may reach one
   * object through one named schema, which must then fill it once.
   */
  #filled = new Map<Fill, Map<object, unknown>>();
  /** How many more defaults may be made for the missing member. */
  #left = Number.POSITIVE_INFINITY;
  readonly #made: { readonly at: string; readonly make: () => unknown }[] = [];

  constructor(checks: Checks, where: string) {
    this.#checks = checks;
    this.#where = where;
  }

  /** Refuses a default that holds itself, which would never end, and defaults within each other that take 2^depth steps. */
  assertFinite(): void {
    for (const { at, make } of this.#made) {
      this.#left = maxMade;
      try {
        this.remembering(make);
      } catch (cause) {
        throw new RegistrationError(
          `${at} calls for itself without end, or for more than ${maxMade} others`,
          { cause },
        );
      }
    }
    this.#left = Number.POSITIVE_INFINITY;
  }

  compile(schema: TSchema, path: string): Fill | undefined {
    const { $id } = schema;
    if (typeof $id !== 'string') return this.#compileBody(schema, path);
    const known = this.#named.get($id);
    if (known !== undefined) return known;
    let body: Fill | undefined;
    const fill: Fill = (value) => (body === undefined ? value : this.#once(body, value));
    this.#named.set($id, fill);
    body = this.#compileBody(schema, path);
    return body && fill;
  }

  remembering<Result>(work: () => Result): Result {
    try {
      return work();
    } finally {
      this.#filled = new Map();
    }
  }

  #once(fill: Fill, value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return fill(value);
    const known = this.#filled.get(fill) ?? new Map<object, unknown>();
    this.#filled.set(fill, known);
    let filled = known.get(value);
    if (filled === undefined) {
      filled = fill(value);
      known.set(value, filled);
    }
    return filled;
  }

  #compileBody(schema: TSchema, path: string): Fill | undefined {
    switch (kindOf(schema)) {
      case 'Object':
        return this.#object(schema, path);
      case 'Record':
        return this.#record(schema, path);
      case 'Array':
        return this.#array(schema, path);
      case 'Tuple':
        return this.#tuple(schema, path);
      case 'Union':
        return this.#union(schema, path);
      case 'Intersect':
        return inTurn(listOf(schema.allOf).map((part) => this.compile(part, path)));
      case 'Ref':
      case 'Import': {
        const target = this.#checks.resolve(schema);
        return target && this.compile(target, path);
      }
      case bytesKind:
        // An intersection may lead to one text twice.
        return (value) => (typeof value === 'string' ? fromBase64(value) : value);
      default:
        return undefined;
    }
  }

  #object(schema: TSchema, path: string): Fill | undefined {
    const steps: MemberStep[] = [];
    for (const [name, member] of Object.entries(schema.properties as Record<string, TSchema>)) {
      const place = `${path}/${escapePointer(name)}`;
      const fill = this.compile(member, place);
      const missing = this.#default(member, place, fill);
      if (fill !== undefined || missing !== undefined) steps.push({ name, fill, missing });
    }
    if (steps.length === 0) return undefined;
    return (value) => {
      if (!isObject(value)) return value;
      let copy: Members | undefined;
      for (const { name, fill, missing } of steps) {
        const given = value[name];
        const filled = given === undefined ? missing?.() : fill === undefined ? given : fill(given);
        if (filled === given) continue;
        copy ??= copyOf(value);
        // Safe: names that Object.prototype has are refused at registration.
        copy[name] = filled;
      }
      return copy ?? value;
    };
  }

  /** A function that makes the default of a missing member, a new one for each call. */
  #default(member: TSchema, path: string, fill: Fill | undefined): (() => unknown) | undefined {
    const given: unknown = member.default;
    if (given === undefined) return undefined;
    const at = `${this.#where} at ${path}: the default`;
    if (!isJson(given)) throw new RegistrationError(`${at} must be a JSON value`);
    if (!this.#checks.matches(member, given)) {
      throw new RegistrationError(
        `${at} ${shorten(JSON.stringify(given))} does not match its schema`,
      );
    }
    if (typeof given !== 'object' || given === null)
      return fill === undefined ? () => given : () => fill(given);
    // Each call parses a default of its own, so that a later change to the schema's object changes no call.
    const text = JSON.stringify(given);
    const complete = (value: unknown): unknown => (fill === undefined ? value : fill(value));
    const make = (): unknown => {
      this.#left -= 1;
      if (this.#left < 0) throw new RangeError('too many defaults');
      return complete(JSON.parse(text));
    };
    this.#made.push({ at, make });
    return make;
  }

  #array(schema: TSchema, path: string): Fill | undefined {
    const fill = this.compile(schema.items as TSchema, `${path}/*`);
    return fill && ((value) => (Array.isArray(value) ? fillItems(value, () => fill) : value));
  }

  #tuple(schema: TSchema, path: string): Fill | undefined {
    const fills = listOf(schema.items).map((item, index) => this.compile(item, `${path}/${index}`));
    if (fills.every((fill) => fill === undefined)) return undefined;
    return (value) => (Array.isArray(value) ? fillItems(value, (index) => fills[index]) : value);
  }

  #record(schema: TSchema, path: string): Fill | undefined {
    const [first] = Object.entries((schema.patternProperties ?? {}) as Record<string, TSchema>);
    const fill = first && this.compile(first[1], `${path}/*`);
    if (first === undefined || fill === undefined) return undefined;
    const pattern = new RegExp(first[0]);
    return (value) => {
      if (!isObject(value)) return value;
      const filled = Object.entries(value).map(
        ([name, member]) => [name, pattern.test(name) ? fill(member) : member] as const,
      );
      const same = filled.every(([name, member]) => member === value[name]);
      // `fromEntries` keeps a member called __proto__ a member.
      return same ? value : Object.fromEntries(filled);
    };
  }

  /** Fills with the first variant that the value matches. */
  #union(schema: TSchema, path: string): Fill | undefined {
    const variants = listOf(schema.anyOf).map((variant) => ({
      check: this.#checks.ofPart(variant),
      fill: this.compile(variant, path),
    }));
    if (variants.every(({ fill }) => fill === undefined)) return undefined;
    return (value) => {
      const match = variants.find(({ check }) => check(value));
      return match?.fill === undefined ? value : match.fill(value);
    };
  }
}

/** `Object.assign` is ten times as fast as a spread, but would set the prototype from a member called __proto__. */
function copyOf(value: Members): Members {
  return Object.hasOwn(value, '__proto__') ? { ...value } : Object.assign({}, value);
}

function fillItems(
  items: readonly unknown[],
  fillOf: (index: number) => Fill | undefined,
): unknown {
  let copy: unknown[] | undefined;
  items.forEach((item, index) => {
    const filled = fillOf(index)?.(item) ?? item;
    if (filled === item) return;
    copy ??= [...items];
    copy[index] = filled;
  });
  return copy ?? items;
}

function inTurn(fills: readonly (Fill | undefined)[]): Fill | undefined {
  const present = fills.filter((fill) => fill !== undefined);
  if (present.length === 0) return undefined;
  return (value) => present.reduce((filled: unknown, fill) => fill(filled), value);
}

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

/** Whether a part of the schema is bytes. */
function holdsBytes(schema: TSchema): boolean {
  let found = kindOf(schema) === bytesKind;
  forEachChild(schema, (child) => {
    found ||= holdsBytes(child);
  });
  return found;
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
