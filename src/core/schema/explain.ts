import { cached } from '../base/cached.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { counted, shortened } from '../base/text.ts';
import { isObject, jsonTypeOf } from '../base/value-kinds.ts';
import { lengthOf } from './bytes.ts';
import type { Checks } from './check.ts';
import { type LimitedType, limitsOf } from './keywords.ts';
import {
  type ArrayNode,
  anything,
  type BytesNode,
  declares,
  type IntersectionNode,
  inPlace,
  isScalar,
  missingNames,
  type ObjectNode,
  resolved,
  type SchemaNode,
  takesAnything,
  typeOfNode,
  type UnionNode,
} from './model.ts';
import { shownSegment } from './pointer.ts';
import { typeText } from './write-type.ts';

/** One refused argument: the `data` of a -32602 is a list of these. */
export interface ParamIssue {
  /** JSON Pointer into the named params, e.g. `/user/tags/0`; '' is the params themselves. */
  readonly path: string;
  readonly message: string;
  /** A type in TypeScript notation, e.g. `number`. */
  readonly expected: string;
  /** A type name, never the value: string, number, boolean, null, array, object, undefined. */
  readonly received: string;
}

/** Limits that keep the data of a -32602 readable, and small whatever the caller sent. */
export const maxIssues = 8;
const maxExpected = 300;

/** Why `value` does not match a schema: the first few issues. They hold nothing of the value but its members' names. */
export function explain(node: SchemaNode, value: unknown, checks: Checks): ParamIssue[] {
  return mismatchesOf(node, value, checks).map(({ path, message, node: part, value: given }) => ({
    path,
    message,
    expected: part === undefined ? 'never' : expectedText(part),
    received: receivedType(given),
  }));
}

/** A part of a value that does not match its schema. */
export interface Mismatch {
  readonly path: string;
  readonly message: string;
  /** What the part has to match; undefined: nothing describes it. */
  readonly node: SchemaNode | undefined;
  readonly value: unknown;
  /** Of a member of an unknown name: the known ones. */
  readonly names: Iterable<string> | undefined;
}

/** {@link explain} for code: with the values. */
export function mismatchesOf(node: SchemaNode, value: unknown, checks: Checks): Mismatch[] {
  const explainer = new Explainer(checks);
  checks.remembering(() => explainer.describe(node, value, ''));
  return explainer.mismatches;
}

const badName = 'has a name that is not allowed here';

class Explainer {
  readonly mismatches: Mismatch[] = [];
  readonly #checks: Checks;

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  #refuse(
    node: SchemaNode | undefined,
    value: unknown,
    path: string,
    message: string,
    names?: Iterable<string>,
  ): void {
    if (!this.#full) this.mismatches.push({ path, message, node, value, names });
  }

  get #full(): boolean {
    return this.mismatches.length >= maxIssues;
  }

  #explain(node: SchemaNode, value: unknown, path: string): void {
    if (this.#full || this.#checks.ofPart(node)(value)) return;
    this.describe(node, value, path);
  }

  describe(node: SchemaNode, value: unknown, path: string): void {
    const before = this.mismatches.length;
    switch (node.kind) {
      case 'object':
        if (isObject(value)) this.#object(node, value, path);
        break;
      case 'array':
        if (Array.isArray(value)) this.#items(node, value, path);
        break;
      case 'intersection':
        this.#intersection(node, value, path);
        break;
      case 'union':
        this.#union(node, value, path);
        break;
      case 'ref':
        this.#explain(node.target, value, path);
        break;
    }
    // Every part matches, so the value as a whole is at fault: its type, a length, uniqueItems, a custom kind.
    if (this.mismatches.length === before) this.#refuse(node, value, path, ruleText(node, value));
  }

  #object(node: ObjectNode, value: Record<string, unknown>, path: string): void {
    const missing = new Set<string>();
    for (const { name, node: member, isRequired } of node.members) {
      if (this.#full) return;
      const place = path + shownSegment(name);
      if (Object.hasOwn(value, name) && value[name] !== undefined) {
        this.#explain(member, value[name], place);
      } else if (isRequired) {
        missing.add(name);
        this.#refuse(member, undefined, place, 'is required');
      }
    }
    for (const name of missingNames(value, node.dependentRequired)) {
      if (missing.has(name)) continue;
      missing.add(name);
      this.#refuse(memberNode(node, name), undefined, path + shownSegment(name), 'is required');
    }
    const { patterns, rest, propertyNames } = node;
    if (
      patterns.length > 0 ||
      propertyNames !== undefined ||
      (rest !== undefined && !takesAnything(rest))
    )
      this.#names(node, value, path);
  }

  #names(node: ObjectNode, value: Record<string, unknown>, path: string): void {
    const { members, patterns, rest, propertyNames } = node;
    const fits = propertyNames && this.#checks.ofPart(propertyNames);
    const names = new Set(members.map(({ name }) => name));
    for (const name of Object.keys(value)) {
      if (this.#full) return;
      const place = path + shownSegment(name);
      if (fits?.(name) === false) {
        this.#refuse(undefined, value[name], place, badName);
        continue;
      }
      const matched = patterns.filter((pattern) => pattern.names.test(name));
      for (const pattern of matched) this.#explain(pattern.node, value[name], place);
      if (rest === undefined || matched.length > 0 || names.has(name)) continue;
      // Patterns alone say which names there may be: no name is near to them.
      const isOfPatterns = patterns.length > 0 && members.length === 0;
      this.#other(rest, value[name], place, name, isOfPatterns ? undefined : names);
    }
  }

  /** Explains a member that nothing else declares. @param names those that are known, if they are told apart one by one */
  #other(
    rest: SchemaNode,
    value: unknown,
    place: string,
    name: string,
    names: Iterable<string> | undefined,
  ): void {
    if (rest.kind !== 'never') this.#explain(rest, value, place);
    else {
      const message = names === undefined ? badName : unknownText(name, names);
      this.#refuse(undefined, value, place, message, names);
    }
  }

  #items(node: ArrayNode, value: readonly unknown[], path: string): void {
    const { prefix, rest, minItems = 0, maxItems = Infinity } = node;
    const isTuple = prefix.length > 0 || rest.kind === 'never';
    // A tuple of another length is another tuple: its items tell nothing.
    if (isTuple && (value.length < minItems || value.length > maxItems)) return;
    for (let index = 0; index < value.length && !this.#full; index += 1)
      this.#explain(prefix[index] ?? rest, value[index], `${path}/${index}`);
  }

  #intersection(node: IntersectionNode, value: unknown, path: string): void {
    const { parts, unevaluated } = node;
    for (const part of parts) this.#explain(part, value, path);
    if (unevaluated === undefined || takesAnything(unevaluated) || !isObject(value)) return;
    const names = new Set(
      [...inPlace(node)].flatMap((part) =>
        part.kind === 'object' ? part.members.map(({ name }) => name) : [],
      ),
    );
    const matches = (variant: SchemaNode): boolean => this.#checks.ofPart(variant)(value);
    for (const name of Object.keys(value)) {
      if (this.#full) return;
      if (parts.some((part) => declares(part, name, matches))) continue;
      const place = path + shownSegment(name);
      this.#other(unevaluated, value[name], place, name, names);
    }
  }

  /** Explains the variant that the caller meant, if only one can be meant. */
  #union({ variants }: UnionNode, value: unknown, path: string): void {
    const [meant, ...others] = variants.filter((variant) => resembles(variant, value));
    if (meant !== undefined && others.length === 0) this.#explain(meant, value, path);
  }
}

/** Whether a value is of the variant's JSON type, with its literals. Scalars resemble none: the whole union explains more. */
function resembles(variant: SchemaNode, value: unknown): boolean {
  const node = resolved(variant);
  switch (node.kind) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      // Literal members tell the variants apart.
      return (
        isObject(value) &&
        node.members.every(
          ({ name, node: member }) =>
            member.kind !== 'literal' || !isScalar(member.value) || member.value === value[name],
        )
      );
    case 'union':
      return node.variants.some((one) => resembles(one, value));
    case 'intersection': {
      const telling = node.parts.filter(({ kind }) => kind !== 'not');
      return telling.length > 0 && telling.every((part) => resembles(part, value));
    }
    default:
      return false;
  }
}

/** What describes the member of a name. */
function memberNode({ members, patterns, rest }: ObjectNode, name: string): SchemaNode {
  return (
    members.find((member) => member.name === name)?.node ??
    patterns.find(({ names }) => names.test(name))?.node ??
    rest ??
    anything
  );
}

function ruleText(node: SchemaNode, value: unknown): string {
  // Its type may be right, and the value one of those that are left out.
  if (node.kind === 'not' && node.node.kind !== 'unknown') return 'is not allowed here';
  // A kind of the program's own may say its type.
  const type = node.kind === 'custom' ? node.notes.type : typeOfNode(node);
  const isInteger = node.kind === 'integer' || type === 'integer';
  const received = receivedType(value);
  if (received !== (isInteger ? 'number' : type)) return `must be ${expectedText(node)}`;
  if (node.kind === 'bytes') return bytesText(node, value as string);
  const limits = limitsOf(node.kind === 'custom' ? node.notes : node, received as LimitedType);
  const broken = limits.find(({ row: { check, message, isLast }, limit }) => {
    if (limit === false || message === undefined) return false;
    return isLast === true || check?.(limit as never)(value) === false;
  });
  const isFraction = isInteger && !Number.isInteger(value);
  if (isFraction && (broken === undefined || broken.row.name === 'multipleOf'))
    return 'must be an integer';
  return broken?.row.message?.(broken.limit) ?? `must be ${expectedText(node)}`;
}

function bytesText({ maxBytes }: BytesNode, text: string): string {
  return maxBytes !== undefined && lengthOf(text) > maxBytes
    ? `must be at most ${counted(maxBytes, 'byte')}`
    : 'must have the format byte';
}

/** Characters compared for one hint. One refusal has up to eight hints, and a batch up to a thousand refusals. */
const hintSteps = 300;

function unknownText(name: string, names: Iterable<string>): string {
  return `is not known here${didYouMean(suggest(name, names, { left: hintSteps }))}`;
}

/** The text of each schema is written once: a batch may hold a thousand bad calls. */
const texts = new WeakMap<SchemaNode, string>();

/** The type of a schema as text, cut to a length that fits a message. */
export function expectedText(node: SchemaNode): string {
  return cached(texts, node, () => shortened(typeText(node, { isShort: true }), maxExpected));
}

export function receivedType(value: unknown): string {
  // What JSON writes as null: `number` would say that it is fine.
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return jsonTypeOf(value);
}
