import { isDeepStrictEqual } from 'node:util';
import { cached } from '../base/cached.ts';
import { withArticle } from '../base/text.ts';
import { isObject } from '../base/value-kinds.ts';
import { bytesFit } from './bytes.ts';
import {
  asUnknown,
  breaking,
  type Finding,
  limited,
  memberPath,
  shownValue,
  unknown,
} from './findings.ts';
import { keywordNamed, keywords, limitsOf } from './keywords.ts';
import {
  type ArrayNode,
  anything,
  type BytesNode,
  differByTag,
  endlessType,
  type IntersectionNode,
  intersectionOf,
  type Member,
  type ObjectNode,
  type SchemaNode,
  someWithin,
  tagsOf,
  takesMore,
  typeOfNode,
  type UnionNode,
} from './model.ts';
import { type Given, limitedTypes } from './reading.ts';
import { type Dialect, writeJson } from './write-json.ts';

/** `params`: the old values must go on being taken; `result`: the new values must be ones that the old contract names. */
export type Direction = 'params' | 'result';

/** Most steps of all comparisons of one direction. */
const maxSteps = 1_000_000;
/** Most steps within each other. */
const maxLevels = 400;
/** Most characters of schemas that are compared as texts. */
const maxText = 4_000_000;

/**
 * Compares schemas keyword by keyword: is each value of `a` one of `b`? For params `a` is the old schema, for results the new
 * one. Members that a schema does not speak of are never there: callers send what the contract names.
 *
 * No finding means that each value certainly is. A pair of schemas that leads to itself at a deeper part of a value has no
 * finding there, as long as it has none elsewhere. No pattern is run: the author of a document may have written one that takes
 * for ever.
 */
export class Comparison {
  readonly #isParams: boolean;
  /** The findings of each pair; none while it is compared. */
  readonly #known = new Map<string, readonly Finding[]>();
  /** The pairs without findings, in the order in which they were begun. */
  readonly #order: string[] = [];
  readonly #ids = new Map<SchemaNode, number>();
  readonly #bare = new Map<SchemaNode, SchemaNode>();
  readonly #merged = new Map<SchemaNode, SchemaNode>();
  readonly #literals = new Map<SchemaNode, ReadonlySet<string>>();
  #left = maxSteps;
  #leftText = maxText;
  #level = 0;

  constructor(direction: Direction) {
    this.#isParams = direction === 'params';
  }

  /** Why a value of `a` may be none of `b`; empty: each is. The paths begin with `path`. */
  within(a: SchemaNode, b: SchemaNode, path = ''): readonly Finding[] {
    const findings = this.#step(
      () => this.#compareOnce(this.#resolved(a), this.#resolved(b)),
      [unknown('', 'the schemas are too large to compare')],
    );
    return path === '' ? findings : findings.map((one) => ({ ...one, path: path + one.path }));
  }

  /** A text that is equal for schemas that are written in the same way; undefined: there is none. */
  textOf(node: SchemaNode): string | undefined {
    if (this.#leftText <= 0 || someWithin(node, isOpaque)) return undefined;
    const text = JSON.stringify(writeJson(node, undescribed));
    this.#leftText -= text.length;
    return text;
  }

  #saySame(a: SchemaNode, b: SchemaNode): boolean {
    const text = this.textOf(a);
    return text !== undefined && text === this.textOf(b);
  }

  /** Bounds the time and the depth of the comparison. */
  #step<Result>(work: () => Result, otherwise: Result): Result {
    if (this.#level >= maxLevels || this.#left <= 0) return otherwise;
    this.#left -= 1;
    this.#level += 1;
    try {
      return work();
    } finally {
      this.#level -= 1;
    }
  }

  #compareOnce(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    const key = `${this.#idOf(a)} ${this.#idOf(b)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, []);
    const mark = this.#order.push(key) - 1;
    const findings = limited(this.#compare(a, b));
    if (findings.length === 0) return [];
    // Those that had no findings since then may have relied on this pair.
    for (const one of this.#order.splice(mark)) this.#known.delete(one);
    this.#known.set(key, findings);
    return findings;
  }

  #compare(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    if (isOpaque(a) || isOpaque(b))
      return [unknown('', 'a type in it leads only to itself, or has a check of its own')];
    const findings = [
      ...this.#rules(a, b),
      ...asUnknown(this.#kinds(a, this.#withoutRules(b)), rulesOf(a)[0]),
    ];
    const isUnknown = findings.length > 0 && findings.every(({ kind }) => kind === 'unknown');
    return isUnknown && this.#saySame(a, b) ? [] : findings;
  }

  /** Keywords that no node has rule the same values out if they say the same. */
  #rules(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    return rulesOf(b).flatMap((name) => {
      const [before, limit] = [a.notes[name], b.notes[name]];
      // The same reference may lead to different schemas in two documents.
      if (isDeepStrictEqual(before, limit) && !JSON.stringify(limit).includes('"$ref"')) return [];
      const kind = before === undefined ? keywordNamed(name)?.compare?.isNew : undefined;
      return [this.#moved(kind ?? 'unknown', name, before, limit)];
    });
  }

  #withoutRules(node: SchemaNode): SchemaNode {
    if (rulesOf(node).length === 0) return node;
    return cached(this.#bare, node, () => ({ ...node, notes: {} }));
  }

  #kinds(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    if (a.kind === 'never' || a.kind === 'undefined' || b.kind === 'unknown') return [];
    if (b.kind === 'intersection') {
      const findings = b.parts.flatMap((part) => this.within(a, part));
      if (b.unevaluated === undefined) return findings;
      const whole = this.#mergedOf(b);
      if (whole.kind === 'object') return [...findings, ...this.within(a, whole)];
      return [...findings, unknown('', 'unevaluatedProperties: is it taken still?')];
    }
    if (a.kind === 'union') return a.variants.flatMap((variant) => this.within(variant, b));
    const values = spelledOut[a.kind];
    if (values !== undefined) {
      const findings = values.flatMap((value) => this.within(value, b));
      if (a.kind !== 'unknown' || !findings.some(({ kind }) => kind === 'breaking'))
        return findings;
      return [this.#breaking('it no longer takes any value', 'it may be any value now')];
    }
    if (a.kind === 'intersection') return this.#intersection(a, b);
    if (b.kind === 'union') return this.#union(a, b);
    if (b.kind === 'not') {
      const before = a.kind === 'not' ? a.node : undefined;
      return this.#areDisjoint(a, b.node) ? [] : [this.#moved('unknown', 'not', before, b.node)];
    }
    if (a.kind === 'not') return asUnknown(this.within(anything, b), 'not');
    return this.#typed(a, b);
  }

  /** A part alone may be within `b`. Objects are one object with the members of all of them. */
  #intersection(a: IntersectionNode, b: SchemaNode): readonly Finding[] {
    const whole = this.#mergedOf(a);
    if (whole.kind !== 'intersection') return this.within(whole, b);
    const all = whole.parts.map((part) => this.within(part, b));
    if (all.some((findings) => findings.length === 0)) return [];
    if (b.kind === 'union') return this.#union(whole, b);
    const main = whole.parts.findIndex((part) => typeOfNode(part) !== undefined);
    const others = whole.parts.filter((_, index) => index !== main);
    const by = others.every(({ kind }) => kind === 'not') ? 'not' : 'another part of it';
    return asUnknown(all[Math.max(main, 0)] ?? [], by);
  }

  /** One variant has to cover `a` alone: types and tags rule out the others. */
  #union(a: SchemaNode, b: UnionNode): readonly Finding[] {
    const isLiteral = a.kind === 'literal';
    const isExclusive = b.isExclusive === true;
    if (isLiteral && !isExclusive && this.#literalsOf(b).has(JSON.stringify(a.value))) return [];
    const variants = b.variants.filter((variant) => !this.#areDisjoint(a, variant));
    const all = variants.map((variant) => this.within(a, variant));
    if (all.some((findings) => findings.length === 0))
      return isExclusive && all.length > 1 ? [unknown('', 'several alternatives may take it')] : [];
    const [only, ...more] = all;
    if (only === undefined) return [this.#gone(a)];
    if (more.length === 0) return only;
    if (isLiteral) return [isTaken(a.value)];
    if (variants.every(({ kind }) => kind === 'literal')) return [this.#certain(a)];
    return [unknown('', `no single alternative covers the one of type ${a.kind}`)];
  }

  /** There may be thousands of literals. */
  #literalsOf(union: UnionNode): ReadonlySet<string> {
    return cached(this.#literals, union, () => {
      const literals = union.variants.flatMap((one) => (one.kind === 'literal' ? one.value : []));
      return new Set(literals.map((value) => JSON.stringify(value)));
    });
  }

  /** Whether it is certain that no value matches both. */
  #areDisjoint(given: SchemaNode, other: SchemaNode): boolean {
    const [a, b] = [this.#resolved(given), this.#resolved(other)];
    const isDisjoint = (): boolean => {
      if (a.kind === 'intersection') return a.parts.some((part) => this.#areDisjoint(part, b));
      if (b.kind === 'intersection') return b.parts.some((part) => this.#areDisjoint(a, part));
      if (a.kind === 'union') return a.variants.every((one) => this.#areDisjoint(one, b));
      if (b.kind === 'union') return b.variants.every((one) => this.#areDisjoint(a, one));
      return exclude(a, b);
    };
    return this.#step(isDisjoint, false);
  }

  /** The node itself, if only one part says something; with one object for all. It may rule out fewer values. */
  #mergedOf(node: IntersectionNode): SchemaNode {
    return cached(this.#merged, node, () => {
      const parts = node.parts.map((given) => {
        const part = this.#resolved(given);
        return part.kind === 'intersection' ? this.#step(() => this.#mergedOf(part), part) : part;
      });
      const others = parts.filter(({ kind }) => kind !== 'object');
      const objects = parts.filter((part) => part.kind === 'object');
      const all =
        objects.length === 0 ? others : [this.#merge(objects, node.unevaluated), ...others];
      const [first = anything, ...more] = all;
      const whole: SchemaNode = more.length === 0 ? first : { ...node, notes: {}, parts: all };
      this.#merged.set(whole, whole);
      return whole;
    });
  }

  /** An object with the members of all of them, and those of other names that one of them allows. */
  #merge(objects: readonly ObjectNode[], unevaluated: SchemaNode | undefined): ObjectNode {
    const members = new Map<string, Member>();
    for (const member of objects.flatMap((object) => object.members)) {
      this.#left -= 1;
      const other = members.get(member.name);
      members.set(member.name, {
        name: member.name,
        node: other === undefined ? member.node : intersectionOf([other.node, member.node]),
        isRequired: member.isRequired || other?.isRequired === true,
      });
    }
    const rests = objects.flatMap(({ rest }) => rest ?? []);
    return {
      ...(Object.assign({}, ...objects) as ObjectNode),
      members: [...members.values()],
      patterns: objects.flatMap(({ patterns }) => patterns),
      // What one part says of members of any name leaves none that are unevaluated.
      rest: rests.find(({ kind }) => kind === 'never') ?? rests[0] ?? unevaluated,
    };
  }

  /** Two nodes of one JSON type each. */
  #typed(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    if (exclude(a, b)) return [this.#gone(a)];
    if (a.kind === 'literal') return accepts(b, a.value) === true ? [] : [isTaken(a.value)];
    if (b.kind === 'literal') return [this.#certain(a)];
    const findings = this.#limits(a, b);
    if (a.kind === 'array' && b.kind === 'array') return [...findings, ...this.#arrays(a, b)];
    if (a.kind === 'object' && b.kind === 'object') return [...findings, ...this.#objects(a, b)];
    if (a.kind === 'bytes') {
      const [size = Infinity, limit = Infinity] = [a.maxBytes, (b as BytesNode).maxBytes];
      if (b.kind !== 'bytes') return asUnknown(findings, 'its encoding');
      return size <= limit ? [] : [this.#moved('breaking', 'maxBytes', a.maxBytes, limit)];
    }
    if (b.kind === 'bytes')
      return [
        this.#moved(isLimited(a) ? 'unknown' : 'breaking', 'contentEncoding', undefined, 'base64'),
      ];
    if (b.kind !== 'integer' || a.kind === 'integer') return findings;
    if (a.kind === 'number' && Number.isInteger(a.multipleOf)) return findings;
    return [...findings, this.#breaking('only integers are taken now', 'it may be a fraction now')];
  }

  /** The limits of `b` that a value of `a` may break. */
  #limits(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    const [olds, extremes] = [a as unknown as Given, extremesOf(a)];
    return limitsOf(b, limitedTypes[b.kind]).flatMap(({ row: { name, compare, check }, limit }) => {
      if (compare === undefined) return [];
      const [before, extreme] = [olds[name] ?? compare.none, extremes[name]];
      const isKept = isNode(limit)
        ? isNode(before) && this.#saySame(before, limit)
        : before !== undefined && compare.implies(before as never, limit as never);
      if (isKept || (extreme !== undefined && check?.(limit as never)(extreme) === true)) return [];
      const kind = olds[name] === undefined ? compare.isNew : compare.isOther;
      return [this.#moved(kind, name, before, limit)];
    });
  }

  #arrays(a: ArrayNode, b: ArrayNode): readonly Finding[] {
    const { maxItems = Infinity } = a;
    const length = Math.max(a.prefix.length, b.prefix.length);
    // That there can't be an item is a matter of `maxItems`.
    const items = (one: SchemaNode, other: SchemaNode, path: string): readonly Finding[] =>
      other === b.rest && other.kind === 'never' ? [] : this.within(one, other, path);
    const first = Array.from({ length: Math.min(length, maxItems) }, (_, index) =>
      items(a.prefix[index] ?? a.rest, b.prefix[index] ?? b.rest, `[${index}]`),
    );
    return [...first.flat(), ...(maxItems > length ? items(a.rest, b.rest, '[]') : [])];
  }

  #objects(a: ObjectNode, b: ObjectNode): readonly Finding[] {
    this.#left -= a.members.length + b.members.length;
    const olds = new Map(a.members.map((member) => [member.name, member]));
    const news = new Map(b.members.map((member) => [member.name, member]));
    const added = b.members.filter(({ name }) => !olds.has(name));
    // Of an object of which nothing at all is said, any object is meant.
    const isSilent = a.members.length + a.patterns.length === 0;
    const { rest = isSilent ? anything : undefined } = a;
    const findings = b.members.flatMap(({ name, isRequired }) =>
      isRequired && olds.get(name)?.isRequired !== true
        ? [this.#breaking('it is required now', 'it may be missing now', memberPath('', name))]
        : [],
    );
    for (const { name, node } of a.members) {
      const path = memberPath('', name);
      const other = news.get(name);
      findings.push(
        ...(other === undefined
          ? this.#undeclared(node, b, path, 'it is no longer taken')
          : this.within(node, other.node, path)),
      );
    }
    if (takesMore(rest)) {
      for (const { name, node } of added)
        findings.push(...this.within(rest, node, memberPath('', name)));
      findings.push(...this.#undeclared(rest, b, '', goneNames));
    }
    return [...findings, ...this.#patterns(a, b, added)];
  }

  /** What an object says of a member that it does not declare. */
  #undeclared(node: SchemaNode, b: ObjectNode, path: string, gone: string): readonly Finding[] {
    // Who reads a result passes over members that its contract does not name.
    if (b.rest === undefined || (b.rest.kind === 'never' && !this.#isParams)) return [];
    const isGone = b.rest.kind === 'never';
    const found = isGone ? [breaking(path, gone)] : this.within(node, b.rest, path || '.*');
    return asUnknown(found, b.patterns.length === 0 ? undefined : 'patternProperties');
  }

  /** Patterns are compared by their texts: which names match them is not known. */
  #patterns(a: ObjectNode, b: ObjectNode, added: readonly Member[]): readonly Finding[] {
    const [olds, news] = [patternsOf(a), patternsOf(b)];
    if ([...news.keys()].some((pattern) => !olds.has(pattern)))
      return [this.#moved('unknown', 'patternProperties', [...olds.keys()], [...news.keys()])];
    return a.patterns.flatMap(({ pattern, node }) => {
      const other = news.get(pattern);
      return [
        ...(other === undefined
          ? this.#undeclared(node, b, '', goneNames)
          : this.within(node, other, '.*')),
        ...added.flatMap((member) =>
          asUnknown(this.within(node, member.node, memberPath('', member.name)), pattern),
        ),
      ];
    });
  }

  #breaking(inParams: string, inResult: string, path = ''): Finding {
    return breaking(path, this.#isParams ? inParams : inResult);
  }

  #gone(a: SchemaNode): Finding {
    const what = a.kind === 'literal' ? shownValue(a.value) : described(a);
    const isGone =
      a.kind === 'literal' ? `${what} is no longer taken` : `it no longer takes ${what}`;
    return this.#breaking(isGone, `it may be ${what} now`);
  }

  #certain(a: SchemaNode): Finding {
    const inResult = 'it is no longer one of certain values';
    const finding = this.#breaking('only certain values are taken now', inResult);
    return isLimited(a) ? { ...finding, kind: 'unknown' } : finding;
  }

  #moved(kind: Finding['kind'], keyword: string, a: unknown, b: unknown): Finding {
    const [before, after] = (this.#isParams ? [a, b] : [b, a]).map(shownLimit);
    return { kind, path: '', reason: `${keyword}: was ${before}, is ${after}` };
  }

  #idOf(node: SchemaNode): number {
    return cached(this.#ids, node, () => this.#ids.size);
  }

  #resolved(node: SchemaNode): SchemaNode {
    let one = node;
    for (; one.kind === 'ref'; one = one.target) this.#left -= 1;
    return one;
  }
}

const goneNames = 'members of other names are no longer taken';

const [nullNode, trueNode, falseNode] = [null, true, false].map(
  (value): SchemaNode => ({ kind: 'literal', notes: {}, value }),
) as [SchemaNode, SchemaNode, SchemaNode];

/** The values of kinds that are compared one by one: those of any value by type. */
const spelledOut: Readonly<Partial<Record<SchemaNode['kind'], readonly SchemaNode[]>>> = {
  null: [nullNode],
  void: [nullNode],
  boolean: [trueNode, falseNode],
  unknown: [
    nullNode,
    trueNode,
    falseNode,
    { kind: 'number', notes: {} },
    { kind: 'string', notes: {} },
    { kind: 'array', notes: {}, prefix: [], rest: anything },
    { kind: 'object', notes: {}, members: [], patterns: [], rest: anything },
  ],
};

/** Whether nothing is known of the values. */
function isOpaque(node: SchemaNode): boolean {
  return node === endlessType || node.kind === 'custom';
}

/** Whether it is certain that no value matches both of two nodes, of one type each. */
function exclude(a: SchemaNode, b: SchemaNode): boolean {
  if (b.kind === 'never' || b.kind === 'undefined') return true;
  const [type, other] = [typeOfNode(a), typeOfNode(b)];
  if (type === undefined || other === undefined) return false;
  if (type !== other) return true;
  if (a.kind === 'literal') return accepts(b, a.value) === false;
  if (b.kind === 'literal') return accepts(a, b.value) === false;
  return differByTag(tagsOf(a), tagsOf(b));
}

/** Whether a node takes a value of its JSON type; undefined: it can't be told. */
function accepts(node: SchemaNode, value: unknown): boolean | undefined {
  if (node.kind === 'literal') return isDeepStrictEqual(node.value, value);
  if (node.kind === 'bytes') return bytesFit(value, node.maxBytes);
  if (node.kind === 'integer' && !Number.isInteger(value)) return false;
  const type = limitedTypes[node.kind];
  // Patterns and formats are not run.
  const answers = limitsOf(node, type).map(({ row: { check, isLast }, limit }) =>
    isLast === true ? undefined : check?.(limit as never)(value),
  );
  if (answers.includes(false)) return false;
  return answers.includes(undefined) || type === 'array' || type === 'object' ? undefined : true;
}

/** The limits that all values of a node keep by its other keywords too, as the value that is nearest to them. */
function extremesOf(node: SchemaNode): Given {
  if (node.kind === 'object') {
    const isClosed = node.members.length > 0 && node.patterns.length === 0 && !takesMore(node.rest);
    return {
      minProperties: node.members.filter(({ isRequired }) => isRequired).length,
      maxProperties: isClosed ? node.members.length : undefined,
    };
  }
  if (node.kind !== 'number' && node.kind !== 'integer') return {};
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = node;
  const { maximum = Infinity, exclusiveMaximum = Infinity } = node;
  const isInteger = node.kind === 'integer';
  const low = isInteger
    ? Math.max(Math.ceil(minimum), Math.floor(exclusiveMinimum) + 1)
    : Math.max(minimum, exclusiveMinimum);
  const high = isInteger
    ? Math.min(Math.floor(maximum), Math.ceil(exclusiveMaximum) - 1)
    : Math.min(maximum, exclusiveMaximum);
  const multipleOf = isInteger ? 1 : undefined;
  return { minimum: low, exclusiveMinimum: low, maximum: high, exclusiveMaximum: high, multipleOf };
}

function patternsOf({ patterns }: ObjectNode): ReadonlyMap<string, SchemaNode> {
  return new Map(patterns.map(({ pattern, node }) => [pattern, node]));
}

/** Whether a keyword limits the values, so that they may be only certain ones. */
function isLimited(node: SchemaNode): boolean {
  const type = limitedTypes[node.kind];
  return type === undefined || limitsOf(node, type).length > 0;
}

/** The keywords among a node's notes that rule some of its values out: `maxLength` does not for an integer. */
function rulesOf(node: SchemaNode): readonly string[] {
  const own = typeOfNode(node);
  return keywords.flatMap(({ name, type = own, compare }) => {
    const isAbout = own === undefined || type === own;
    return compare !== undefined && isAbout && node.notes[name] !== undefined ? name : [];
  });
}

/** Writes no descriptions, so that they are not compared. */
const undescribed: Dialect = (node, write) => {
  const rules = rulesOf(node);
  if (rules.length === Object.keys(node.notes).length) return undefined;
  return write({
    ...node,
    notes: Object.fromEntries(rules.map((name) => [name, node.notes[name]])),
  });
};

function isNode(value: unknown): value is SchemaNode {
  return isObject(value) && typeof value.kind === 'string';
}

function isTaken(value: unknown): Finding {
  return unknown('', `${shownValue(value)}: is it taken still?`);
}

function described(node: SchemaNode): string {
  const type = node.kind === 'integer' ? node.kind : (typeOfNode(node) ?? 'value');
  const [tag] = tagsOf(node);
  const rest = tag === undefined ? '' : ` with ${shownValue(tag[0])}: ${shownValue(tag[1])}`;
  return `${withArticle(type)}${rest}`;
}

function shownLimit(limit: unknown): string {
  if (limit === undefined) return 'not limited';
  return shownValue(isNode(limit) ? writeJson(limit, undescribed) : limit);
}
