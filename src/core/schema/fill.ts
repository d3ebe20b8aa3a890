import { isDeepStrictEqual } from 'node:util';
import { RegistrationError } from '../base/registration-error.ts';
import { shortened } from '../base/text.ts';
import { isObject } from '../base/value-kinds.ts';
import { fromBase64 } from './bytes.ts';
import type { Checks } from './check.ts';
import {
  type ArrayNode,
  hasDefault,
  type IntersectionNode,
  isScalar,
  type Member,
  type ObjectNode,
  type SchemaNode,
  someWithin,
  takesAnything,
  type UnionNode,
} from './model.ts';
import { escapePointer } from './pointer.ts';

type Named = Record<string, unknown>;

/** Fills the defaults into a valid value and decodes its bytes. Returns a copy, or the value itself if nothing was missing. */
export type Fill = (value: unknown) => unknown;

/**
 * Compiles the defaults of a schema, nested ones included. Nothing is filled within `not`, `contains` and `propertyNames`: they
 * say which values are taken, and not what the value is.
 *
 * @returns undefined for a schema without defaults and bytes: its calls pay nothing
 * @throws RegistrationError for a default that is not a JSON value, or does not match its own schema
 */
export function compileDefaults(root: SchemaNode, checks: Checks, where: string): Fill | undefined {
  if (!someWithin(root, (node) => node.kind === 'bytes' || (node !== root && hasDefault(node))))
    return undefined;
  const compiler = new DefaultsCompiler(checks, where);
  const fill = compiler.compile(root, '');
  compiler.assertFinite();
  if (fill === undefined || !someWithin(root, ({ name }) => name !== undefined)) return fill;
  return (value) => checks.remembering(() => fill(value));
}

/** Most arrays and objects that are made for one missing member: its default, and the defaults within that default. */
const maxMade = 256;

class DefaultsCompiler {
  readonly #checks: Checks;
  readonly #where: string;
  /** Of named schemas. The entry of a recursive one is made before its fill is complete. */
  readonly #named = new Map<SchemaNode, Fill>();
  /** How many more defaults may be made for the missing member. */
  #left = Infinity;
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
        this.#checks.remembering(make);
      } catch (cause) {
        throw new RegistrationError(
          `${at} calls for itself without end, or for more than ${maxMade} others`,
          { cause },
        );
      }
    }
    this.#left = Infinity;
  }

  compile(node: SchemaNode, path: string): Fill | undefined {
    if (node.name === undefined) return this.#compileBody(node, path);
    const known = this.#named.get(node);
    if (known !== undefined) return known;
    let body: Fill | undefined;
    // The parts of an intersection may reach one object through one named schema, which must then fill it once.
    const fill = this.#checks.remembered((value) => (body === undefined ? value : body(value)));
    this.#named.set(node, fill);
    body = this.#compileBody(node, path);
    return body && fill;
  }

  #compileBody(node: SchemaNode, path: string): Fill | undefined {
    switch (node.kind) {
      case 'object':
        return this.#object(node, path);
      case 'array':
        return this.#items(node, path);
      case 'union':
        return this.#union(node, path);
      case 'intersection':
        return this.#intersection(node, path);
      case 'ref':
        return this.compile(node.target, path);
      case 'bytes':
        // An intersection may lead to one text twice.
        return (value) => (typeof value === 'string' ? fromBase64(value) : value);
      default:
        return undefined;
    }
  }

  #object(node: ObjectNode, path: string): Fill | undefined {
    const steps = node.members.flatMap((member) => {
      const { name } = member;
      const place = `${path}/${escapePointer(name)}`;
      const matched = node.patterns.filter(({ names }) => names.test(name));
      const parts = [member.node, ...matched.map((pattern) => pattern.node)];
      const fill = inTurn(parts.flatMap((part) => this.compile(part, place) ?? []));
      const missing = this.#default(member, parts, place, fill);
      return fill === undefined && missing === undefined ? [] : [{ name, fill, missing }];
    });
    const undeclared = this.#undeclared(node, path);
    if (steps.length === 0) return undeclared;
    const declared: Fill = (value) => {
      if (!isObject(value)) return value;
      let copy: Named | undefined;
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
    return undeclared === undefined ? declared : (value) => undeclared(declared(value));
  }

  /** Fills the members that have no name of their own: by each pattern that their name matches, else by `rest`. */
  #undeclared({ members, patterns, rest }: ObjectNode, path: string): Fill | undefined {
    const place = `${path}/*`;
    const fills = patterns.map(({ names, node }) => ({ names, fill: this.compile(node, place) }));
    const other = rest && this.compile(rest, place);
    if (other === undefined && fills.every(({ fill }) => fill === undefined)) return undefined;
    const declared = new Set(members.map(({ name }) => name));
    const filledMember = (name: string, member: unknown): unknown => {
      let isMatched = false;
      let filled = member;
      for (const { names, fill } of fills) {
        if (!names.test(name)) continue;
        isMatched = true;
        if (fill !== undefined) filled = fill(filled);
      }
      return isMatched || other === undefined ? filled : other(member);
    };
    return (value) => {
      if (!isObject(value)) return value;
      let copy: Named | undefined;
      for (const [name, member] of Object.entries(value)) {
        if (declared.has(name)) continue;
        const filled = filledMember(name, member);
        if (filled === member) continue;
        copy ??= copyOf(value);
        // Safe: a member called __proto__ is one of the copy's own by now.
        copy[name] = filled;
      }
      return copy ?? value;
    };
  }

  /**
   * A function that makes the default of a missing member, a new one for each call.
   *
   * @param parts what a value of the member has to match: its schema, and those of patterns that its name matches
   */
  #default(
    { node }: Member,
    parts: readonly SchemaNode[],
    path: string,
    fill: Fill | undefined,
  ): (() => unknown) | undefined {
    const given = node.notes.default;
    if (given === undefined) return undefined;
    const at = `${this.#where} at ${path}: the default`;
    if (!isJson(given)) throw new RegistrationError(`${at} must be a JSON value`);
    if (!parts.every((part) => this.#checks.ofPart(part)(given))) {
      const text = shortened(JSON.stringify(given), 80);
      throw new RegistrationError(`${at} ${text} does not match its schema`);
    }
    const complete: Fill = fill ?? ((value) => value);
    if (isScalar(given)) return () => complete(given);
    // Each call parses a default of its own, so that a later change to the schema's object changes no call.
    const text = JSON.stringify(given);
    const make = (): unknown => {
      this.#left -= 1;
      if (this.#left < 0) throw new RangeError('too many defaults');
      return complete(JSON.parse(text));
    };
    this.#made.push({ at, make });
    return make;
  }

  #items({ prefix, rest }: ArrayNode, path: string): Fill | undefined {
    const fills = prefix.map((item, index) => this.compile(item, `${path}/${index}`));
    const each = this.compile(rest, `${path}/*`);
    if ([each, ...fills].every((fill) => fill === undefined)) return undefined;
    const first = prefix.length;
    return (value) => {
      if (!Array.isArray(value)) return value;
      let copy: unknown[] | undefined;
      for (let index = 0; index < value.length; index++) {
        const fill = index < first ? fills[index] : each;
        if (fill === undefined) continue;
        const item: unknown = value[index];
        const filled = fill(item);
        if (filled === item) continue;
        copy ??= [...(value as unknown[])];
        copy[index] = filled;
      }
      return copy ?? value;
    };
  }

  /** Fills with the first variant that the value matches. */
  #union(node: UnionNode, path: string): Fill | undefined {
    // The handler gets what an `unknown` takes as it is, whatever else the union names.
    if (takesAnything(node)) return undefined;
    const variants = node.variants.map((variant) => ({
      check: this.#checks.ofPart(variant),
      fill: this.compile(variant, path),
    }));
    if (variants.every(({ fill }) => fill === undefined)) return undefined;
    return (value) => {
      const match = variants.find(({ check }) => check(value));
      return match?.fill === undefined ? value : match.fill(value);
    };
  }

  #intersection({ parts }: IntersectionNode, path: string): Fill | undefined {
    return inTurn(parts.flatMap((part) => this.compile(part, path) ?? []));
  }
}

/** One function for all of them; undefined if there is none. */
function inTurn(fills: readonly Fill[]): Fill | undefined {
  if (fills.length < 2) return fills[0];
  return (value) => fills.reduce((filled: unknown, fill) => fill(filled), value);
}

/** `Object.assign` is ten times as fast as a spread, but would set the prototype from a member called __proto__. */
function copyOf(value: Named): Named {
  return Object.hasOwn(value, '__proto__') ? { ...value } : Object.assign({}, value);
}

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}
