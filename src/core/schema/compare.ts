import { isDeepStrictEqual } from 'node:util';
import { jsonTypeOf } from '../base/value-kinds.ts';
import { bytesFit } from './bytes.ts';
import { keywordNamed, keywords, keywordsOf, type LimitedType } from './keywords.ts';
import {
  type ArrayNode,
  anything,
  type IntersectionNode,
  isScalar,
  type LiteralNode,
  type Member,
  type Notes,
  type NumberNode,
  type ObjectNode,
  type SchemaNode,
  someWithin,
  tagsOf,
  takesMore,
  type UnionNode,
} from './model.ts';
import { type Given, isOfType, limitedTypes } from './reading.ts';
import { type Dialect, writeJson } from './write-json.ts';

/** One difference that a caller may notice. */
export interface Finding {
  /** `breaking`: some caller of the old contract fails; `unknown`: the comparison can't tell. */
  readonly kind: 'breaking' | 'unknown';
  /** Where: `params.order.items[].quantity`; '' for the procedure itself. */
  readonly path: string;
  /** What has changed, in words that follow the path. */
  readonly reason: string;
}

/** `params`: the old values must go on being taken; `result`: the new values must be ones that the old contract names. */
export type Direction = 'params' | 'result';

export function breaking(path: string, reason: string): Finding {
  return { kind: 'breaking', path, reason };
}

export function unknown(path: string, reason: string): Finding {
  return { kind: 'unknown', path, reason };
}

/** The path of a member: `.name`, or `["a name"]` if the name is no identifier. */
export function memberPath(path: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${path}.${name}`
    : `${path}[${JSON.stringify(name)}]`;
}

/** Most steps of all comparisons of one direction. */
const maxSteps = 1_000_000;
/** Most steps within each other. */
const maxLevels = 400;
/** Most characters of schemas that are compared as texts. */
const maxText = 4_000_000;
/** Most cases of an intersection of unions. */
const maxCases = 256;
/** Most findings that are kept of two schemas. */
const maxFindings = 500;

/**
 * Values of one JSON type: those that match all of the nodes. An intersection of unions has several cases. The nodes are of
 * one kind each: no union, intersection or reference is among them, and null and booleans are literals.
 */
interface Case {
  readonly nodes: readonly SchemaNode[];
  /** What intersections say of members that none of their parts declares. */
  readonly rests: readonly SchemaNode[];
  /** Notes with keywords that rule values out and that no node has. */
  readonly notes: readonly Notes[];
  /** One of the JSON types of any value at all. */
  readonly isAny?: boolean;
}

/** The variants of a union and of the unions within it. */
interface Variants {
  /** The texts of literals, of which there may be thousands, and their JSON types. */
  readonly texts: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  readonly others: readonly SchemaNode[];
}

/** Thrown if a schema has too many cases, or nests too deep. */
class TooLarge extends Error {}

/**
 * Compares schemas keyword by keyword: is each value of `a` one of `b`? For params `a` is the old schema, for results the new
 * one. Members that a schema does not speak of are never there: callers send what the contract names.
 *
 * "Yes" is a proof. It is by induction over the values: a pair of schemas that leads to itself at a deeper part of a value
 * is taken as proven there, as long as the pair itself is not refuted. No pattern is run: the author of a document may have
 * written one that takes for ever.
 */
export class Comparison {
  readonly #isParams: boolean;
  /** Pairs that are proven, or being proven, in the order in which they were begun. */
  readonly #taken = new Set<string>();
  readonly #order: string[] = [];
  readonly #failed = new Map<string, readonly Finding[]>();
  readonly #ids = new Map<SchemaNode, number>();
  readonly #merged = new Map<string, ObjectNode>();
  readonly #variants = new Map<SchemaNode, Variants>();
  #left = maxSteps;
  #leftText = maxText;
  #level = 0;

  constructor(direction: Direction) {
    this.#isParams = direction === 'params';
  }

  /** Why a value of `a` may be none of `b`; empty: each is. The paths begin with `path`. */
  within(a: SchemaNode, b: SchemaNode, path = ''): readonly Finding[] {
    const key = `${this.#idOf(this.#resolved(a))} ${this.#idOf(this.#resolved(b))}`;
    const findings = this.#step(
      () => this.#known(key, () => this.#compare(a, b)),
      [unknown('', tooLarge)],
    );
    return path === '' ? findings : findings.map((one) => ({ ...one, path: path + one.path }));
  }

  #known(key: string, compare: () => readonly Finding[]): readonly Finding[] {
    if (this.#taken.has(key)) return [];
    const known = this.#failed.get(key);
    if (known !== undefined) return known;
    const mark = this.#order.push(key) - 1;
    this.#taken.add(key);
    const findings = compare();
    if (findings.length === 0) return [];
    // What was proven since then may have relied on this pair.
    for (const one of this.#order.splice(mark)) this.#taken.delete(one);
    this.#failed.set(key, findings);
    return findings;
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

  #compare(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    try {
      const cases = this.#cases(a, new Set()).flatMap((one) => this.#typed(one));
      const findings = cases.flatMap((one) => this.#caseWithin(one, b));
      // One line instead of one for each type.
      if (cases[0]?.isAny === true && findings.some(({ kind }) => kind === 'breaking'))
        return [this.#breaking('it no longer takes any value', 'it may be any value now')];
      if (
        findings.length > 0 &&
        findings.every(({ kind }) => kind === 'unknown') &&
        this.#saySame(a, b)
      )
        return [];
      const unique = new Map(findings.map((one) => [`${one.path} ${one.reason}`, one]));
      return [...unique.values()].slice(0, maxFindings);
    } catch (error) {
      if (error instanceof TooLarge) return [unknown('', tooLarge)];
      throw error;
    }
  }

  /** @throws TooLarge */
  #cases(given: SchemaNode, around: ReadonlySet<SchemaNode>): readonly Case[] {
    const node = this.#resolved(given);
    // A type that holds itself without a step into the value has no further values by that.
    if (around.has(node)) return [];
    const cases = this.#step(() => this.#casesOf(node, around), undefined);
    if (cases === undefined) throw new TooLarge();
    if (rulesOf(node.notes).length === 0) return cases;
    return cases.map((one) => ({ ...one, notes: [...one.notes, node.notes] }));
  }

  #casesOf(node: SchemaNode, around: ReadonlySet<SchemaNode>): readonly Case[] {
    switch (node.kind) {
      case 'never':
      case 'undefined':
        return [];
      case 'unknown':
        return [caseOf()];
      case 'null':
      case 'void':
        return [caseOf(nullNode)];
      case 'boolean':
        return [caseOf(trueNode), caseOf(falseNode)];
      case 'union': {
        const within = new Set(around).add(node);
        return node.variants.flatMap((variant) => this.#cases(variant, within));
      }
      case 'intersection': {
        const within = new Set(around).add(node);
        const rests = node.unevaluated === undefined ? [] : [node.unevaluated];
        return node.parts.reduce<readonly Case[]>(
          (cases, part) => product(cases, this.#cases(part, within)),
          [{ ...caseOf(), rests }],
        );
      }
      default:
        return [caseOf(node)];
    }
  }

  /** A case by the JSON type of its values, with one node for all objects. */
  #typed(one: Case): readonly Case[] {
    const types = new Set(one.nodes.flatMap((node) => typeOf(node) ?? []));
    if (types.size > 1) return [];
    if (types.size === 0)
      return everyType.map((node) => ({ ...one, nodes: [node, ...one.nodes], isAny: true }));
    const objects = one.nodes.filter((node) => node.kind === 'object');
    if (objects.length === 0 || objects.length + one.rests.length === 1) return [one];
    const others = one.nodes.filter((node) => node.kind !== 'object');
    return [{ ...one, nodes: [this.#merge(objects, one.rests), ...others] }];
  }

  /** An object with the members of all of them. It may rule out fewer values than they do. */
  #merge(objects: readonly ObjectNode[], rests: readonly SchemaNode[]): ObjectNode {
    const key = [...objects, undefined, ...rests].map((one) => one && this.#idOf(one)).join();
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const members = new Map<string, Member>();
    for (const member of objects.flatMap((object) => object.members)) {
      this.#left -= 1;
      const { name, node, isRequired } = member;
      const other = members.get(name);
      if (other === undefined) members.set(name, member);
      else
        members.set(name, {
          name,
          node: {
            kind: 'intersection',
            notes: {},
            parts: [other.node, node],
            unevaluated: undefined,
          },
          isRequired: isRequired || other.isRequired,
        });
    }
    const open = [...rests, ...objects.flatMap(({ rest }) => rest ?? [])];
    const merged = {
      ...objects.reduce(stricter, anyObject),
      members: [...members.values()],
      patterns: objects.flatMap(({ patterns }) => patterns),
      rest: open.find(({ kind }) => kind === 'never') ?? open[0],
    };
    this.#merged.set(key, merged);
    return merged;
  }

  /** Why a value of the case may be none of the node; the paths are relative. */
  #caseWithin(one: Case, given: SchemaNode): readonly Finding[] {
    const node = this.#resolved(given);
    return this.#step(
      () => [...this.#rulesWithin(one, node.notes), ...this.#caseWithinNode(one, node)],
      [unknown('', tooLarge)],
    );
  }

  #caseWithinNode(one: Case, node: SchemaNode): readonly Finding[] {
    switch (node.kind) {
      case 'unknown':
        return [];
      case 'union':
        return this.#caseWithinUnion(one, node);
      case 'intersection':
        return [
          ...node.parts.flatMap((part) => this.#caseWithin(one, part)),
          ...this.#unevaluated(one, node),
        ];
      case 'not': {
        const others = one.nodes.flatMap((other) => (other.kind === 'not' ? other.node : []));
        if (others.some((other) => this.#saySame(other, node.node))) return [];
        if (this.#areDisjoint(one, node.node)) return [];
        return [this.#moved('unknown', 'not', others[0], node.node)];
      }
      case 'custom':
        return one.nodes.includes(node) ? [] : [unknown('', 'a check of its own decides')];
      default: {
        const all = one.nodes.map((other) => this.#nodeWithin(other, node));
        if (all.some((findings) => findings.length === 0)) return [];
        return this.#softened(one, all[one.nodes.indexOf(mainOf(one))] ?? []);
      }
    }
  }

  /** A variant that covers the case alone is looked for: by tags and types first, then by comparison. */
  #caseWithinUnion(one: Case, union: UnionNode): readonly Finding[] {
    const { texts, types, others } = this.#variantsOf(union);
    const main = mainOf(one);
    const isLiteral = main.kind === 'literal';
    const isExclusive = union.isExclusive === true;
    const isAmong = isLiteral && texts.has(JSON.stringify(main.value));
    if (isAmong && !isExclusive) return [];
    const candidates = others.filter((variant) => !this.#areDisjoint(one, variant));
    const all = candidates.map((variant) => this.#caseWithin(one, variant));
    // Several literals may be all values of the case.
    const mayBeLiterals = !isLiteral && types.has(typeOf(main) ?? '');
    if (isAmong || all.some((findings) => findings.length === 0)) {
      const count = all.length + (isAmong || mayBeLiterals ? 1 : 0);
      return isExclusive && count > 1 ? [unknown('', 'several alternatives may take it')] : [];
    }
    if (all.length === 0)
      return this.#softened(one, [mayBeLiterals ? this.#certain(main) : this.#gone(main)]);
    if (all.length === 1 && !mayBeLiterals) return all[0] ?? [];
    return [
      unknown(
        '',
        isLiteral
          ? `${shownValue(main.value)}: is it taken still?`
          : `no single alternative covers the one of type ${main.kind}`,
      ),
    ];
  }

  #variantsOf(union: UnionNode): Variants {
    const known = this.#variants.get(union);
    if (known !== undefined) return known;
    const texts = new Set<string>();
    const types = new Set<string>();
    const others: SchemaNode[] = [];
    const seen = new Set<SchemaNode>();
    const open: SchemaNode[] = [union];
    for (let given = open.pop(); given !== undefined; given = open.pop()) {
      const node = this.#resolved(given);
      if (seen.has(node)) continue;
      seen.add(node);
      this.#left -= 1;
      const isPlain = rulesOf(node.notes).length === 0;
      const values = isPlain ? valuesOf(node) : undefined;
      if (node === union || (node.kind === 'union' && isPlain && node.isExclusive !== true))
        open.push(...(node as UnionNode).variants.toReversed());
      else if (values === undefined) others.push(node);
      else {
        for (const value of values) {
          texts.add(JSON.stringify(value));
          types.add(jsonTypeOf(value));
        }
      }
    }
    const variants = { texts, types, others };
    this.#variants.set(union, variants);
    return variants;
  }

  /** Whether it is certain that no value of the case matches the node. */
  #areDisjoint(one: Case, given: SchemaNode): boolean {
    const node = this.#resolved(given);
    const inner = (part: SchemaNode): boolean =>
      this.#step(() => this.#areDisjoint(one, part), false);
    switch (node.kind) {
      case 'intersection':
        return node.parts.some(inner);
      case 'union':
        return node.variants.every(inner);
      default:
        return one.nodes.some((other) => this.#exclude(other, node));
    }
  }

  #exclude(a: SchemaNode, b: SchemaNode): boolean {
    if (b.kind === 'never' || b.kind === 'undefined') return true;
    const [type, other] = [typeOf(a), typeOf(b)];
    if (type === undefined || other === undefined) return false;
    if (type !== other) return true;
    if (a.kind === 'literal') return this.#accepts(b, a.value) === false;
    if (b.kind === 'literal') return this.#accepts(a, b.value) === false;
    const tags = tagsOf(b);
    return [...tagsOf(a)].some(([name, tag]) => tags.has(name) && tags.get(name) !== tag);
  }

  /** Whether the node takes a value; undefined: it can't be told. */
  #accepts(given: SchemaNode, value: unknown): boolean | undefined {
    const node = this.#resolved(given);
    const answer = this.#step(() => this.#acceptsNode(node, value), undefined);
    return answer === true && rulesOf(node.notes).length > 0 ? undefined : answer;
  }

  #acceptsNode(node: SchemaNode, value: unknown): boolean | undefined {
    switch (node.kind) {
      case 'unknown':
        return true;
      case 'literal':
        return isDeepStrictEqual(node.value, value);
      case 'bytes':
        return bytesFit(value, node.maxBytes);
      case 'union':
        return some(node.variants.map((variant) => this.#accepts(variant, value)));
      case 'intersection': {
        const answers = node.parts.map((part) => this.#accepts(part, value));
        if (answers.includes(false)) return false;
        return answers.includes(undefined) || node.unevaluated !== undefined ? undefined : true;
      }
      case 'not': {
        const answer = this.#accepts(node.node, value);
        return answer === undefined ? undefined : !answer;
      }
      case 'custom':
        return undefined;
      case 'number':
      case 'integer':
      case 'string':
        return isOfType(value, node.kind) && keepsLimits(node, value);
      default:
        if (typeOf(node) !== jsonTypeOf(value)) return false;
        return typeof value === 'object' && value !== null ? undefined : true;
    }
  }

  /** Keywords that no node has rule the same values out if they say the same. */
  #rulesWithin(one: Case, notes: Notes): readonly Finding[] {
    return rulesOf(notes).flatMap((name) => {
      const [value, { compare } = {}] = [notes[name], keywordNamed(name)];
      const others = one.notes.flatMap((other) => other[name] ?? []);
      // The same reference may lead to different schemas in two documents.
      const isSame = others.some((other) => isDeepStrictEqual(other, value));
      if (isSame && !JSON.stringify(value).includes('"$ref"')) return [];
      const kind = others.length === 0 && compare !== undefined ? compare.isNew : 'unknown';
      return [this.#moved(kind, name, others[0], value)];
    });
  }

  /** Why a value of `a` may be none of `b`, neither of which is made of other nodes for the same value. */
  #nodeWithin(a: SchemaNode, b: SchemaNode): readonly Finding[] {
    if (this.#exclude(a, b)) return [this.#gone(a)];
    if (a.kind === 'literal')
      return this.#accepts(b, a.value) === true
        ? []
        : [unknown('', `${shownValue(a.value)}: is it taken still?`)];
    if (b.kind === 'literal') return [this.#certain(a)];
    switch (a.kind) {
      case 'number':
      case 'integer':
        return this.#numbers(a, b as NumberNode);
      case 'string':
        if (b.kind === 'bytes')
          return [
            this.#moved(isMany(a) ? 'breaking' : 'unknown', 'contentEncoding', undefined, 'base64'),
          ];
        return this.#limits('string', a, b);
      case 'bytes': {
        if (b.kind !== 'bytes') return asUnknown(this.#limits('string', {}, b), 'its encoding');
        const { maxBytes = Infinity } = b;
        if ((a.maxBytes ?? Infinity) <= maxBytes) return [];
        return [this.#moved('breaking', 'maxBytes', a.maxBytes, maxBytes)];
      }
      case 'array':
        return this.#arrays(a, b as ArrayNode);
      case 'object':
        return this.#objects(a, b as ObjectNode);
      default:
        return [this.#gone(a)];
    }
  }

  /**
   * The limits of `b` that a value of `a` may break.
   *
   * @param keeps whether all values of `a` keep a limit by other keywords than the same one
   */
  #limits(
    type: LimitedType,
    a: object,
    b: object,
    keeps: Readonly<Record<string, (limit: number) => boolean>> = {},
  ): readonly Finding[] {
    const [olds, news] = [a as Given, b as Given];
    return keywordsOf(type).flatMap(({ name, compare }) => {
      const limit = news[name];
      if (compare === undefined || limit === undefined) return [];
      const before = olds[name] ?? compare.none;
      const isKept =
        keeps[name]?.(limit as number) === true ||
        (isNode(limit)
          ? isNode(before) && this.#saySame(before, limit)
          : before !== undefined && compare.implies(before as never, limit as never));
      if (isKept) return [];
      const kind = olds[name] === undefined ? compare.isNew : compare.isOther;
      return [this.#moved(kind, name, before, limit)];
    });
  }

  #numbers(a: NumberNode, b: NumberNode): readonly Finding[] {
    const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = a;
    const [low, high] = rangeOf(a);
    const steps = keywordNamed('multipleOf')?.compare;
    const findings = this.#limits('number', a, b, {
      minimum: (limit) => low >= limit,
      exclusiveMinimum: (limit) => low > limit || exclusiveMinimum >= limit,
      maximum: (limit) => high <= limit,
      exclusiveMaximum: (limit) => high < limit || exclusiveMaximum <= limit,
      multipleOf: (step) =>
        a.kind === 'integer' && steps?.implies(1 as never, step as never) === true,
    });
    const isWhole = a.kind === 'integer' || Number.isInteger(a.multipleOf);
    if (b.kind === 'number' || isWhole) return findings;
    return [...findings, this.#breaking('only integers are taken now', 'it may be a fraction now')];
  }

  #arrays(a: ArrayNode, b: ArrayNode): readonly Finding[] {
    const { maxItems: most = Infinity } = a;
    const findings = [...this.#limits('array', a, b)];
    const length = Math.max(a.prefix.length, b.prefix.length);
    const items = (one: SchemaNode, other: SchemaNode, path: string): void => {
      // An item that there can't be is a matter of `maxItems`.
      if (other !== b.rest || other.kind !== 'never')
        findings.push(...this.within(one, other, path));
    };
    for (let index = 0; index < Math.min(length, most); index++)
      items(a.prefix[index] ?? a.rest, b.prefix[index] ?? b.rest, `[${index}]`);
    if (most > length) items(a.rest, b.rest, '[]');
    return findings;
  }

  #objects(a: ObjectNode, b: ObjectNode): readonly Finding[] {
    this.#left -= a.members.length + b.members.length;
    const olds = new Map(a.members.map((member) => [member.name, member]));
    const news = new Map(b.members.map((member) => [member.name, member]));
    const findings: Finding[] = [];
    for (const { name, isRequired } of b.members) {
      if (isRequired && olds.get(name)?.isRequired !== true)
        findings.push(
          this.#breaking('it is required now', 'it may be missing now', memberPath('', name)),
        );
    }
    // Who reads a result passes over members that its contract does not name.
    const others = !this.#isParams && b.rest?.kind === 'never' ? undefined : b.rest;
    const undeclared = (node: SchemaNode, path: string, gone: string): void => {
      if (others === undefined) return;
      const found =
        others.kind === 'never'
          ? [breaking(path, gone)]
          : this.within(node, others, path === '' ? '.*' : path);
      findings.push(...(b.patterns.length === 0 ? found : asUnknown(found, 'patternProperties')));
    };
    for (const { name, node } of a.members) {
      const path = memberPath('', name);
      const other = news.get(name);
      if (other === undefined) undeclared(node, path, 'it is no longer taken');
      else findings.push(...this.within(node, other.node, path));
    }
    const { rest = isSilent(a) ? anything : undefined } = a;
    if (takesMore(rest)) {
      for (const { name, node } of b.members)
        if (!olds.has(name)) findings.push(...this.within(rest, node, memberPath('', name)));
      undeclared(rest, '', 'members of other names are no longer taken');
    }
    findings.push(...this.#patterns(a, b));
    const count = a.members.filter(({ isRequired }) => isRequired).length;
    const { minProperties = 0, maxProperties = Infinity } = a;
    const most =
      a.patterns.length === 0 && !takesMore(rest)
        ? Math.min(maxProperties, a.members.length)
        : maxProperties;
    return [
      ...findings,
      ...this.#limits('object', a, b, {
        minProperties: (limit) => Math.max(minProperties, count) >= limit,
        maxProperties: (limit) => most <= limit,
      }),
    ];
  }

  /** Patterns are compared by their texts: which names match them is not known. */
  #patterns(a: ObjectNode, b: ObjectNode): readonly Finding[] {
    const [olds, news] = [patternsOf(a), patternsOf(b)];
    if (olds.size !== news.size || [...news.keys()].some((pattern) => !olds.has(pattern)))
      return [this.#moved('unknown', 'patternProperties', [...olds.keys()], [...news.keys()])];
    const declared = new Set(a.members.map(({ name }) => name));
    const added = b.members.filter(({ name }) => !declared.has(name));
    return [...olds].flatMap(([pattern, node]) => [
      ...this.within(node, news.get(pattern) ?? anything, '.*'),
      ...added.flatMap((member) =>
        asUnknown(this.within(node, member.node, memberPath('', member.name)), pattern),
      ),
    ]);
  }

  /** The members that no part of an intersection declares. */
  #unevaluated(one: Case, { parts, unevaluated }: IntersectionNode): readonly Finding[] {
    if (unevaluated === undefined || typeOf(mainOf(one)) !== 'object') return [];
    const objects = parts
      .map((part) => this.#resolved(part))
      .filter((part) => part.kind === 'object');
    if (objects.some(({ rest }) => takesMore(rest))) return [];
    const whole = { ...this.#merge(objects, []), rest: unevaluated };
    const [findings = [unknown('', 'unevaluatedProperties: is it taken still?')]] =
      one.nodes.flatMap((node) => (node.kind === 'object' ? [this.#objects(node, whole)] : []));
    return objects.length === parts.length ? findings : asUnknown(findings, 'another part of it');
  }

  #saySame(a: SchemaNode, b: SchemaNode): boolean {
    const text = this.textOf(a);
    return text !== undefined && text === this.textOf(b);
  }

  /** A text that is equal for schemas that are written in the same way; undefined: there is none. */
  textOf(node: SchemaNode): string | undefined {
    // A check is no text.
    if (this.#leftText <= 0 || someWithin(node, ({ kind }) => kind === 'custom')) return undefined;
    const text = JSON.stringify(writeJson(node, undescribed));
    this.#leftText -= text.length;
    return text;
  }

  /** Not all values of a case may be there: what breaks some of the others is not certain to matter. */
  #softened(one: Case, findings: readonly Finding[]): readonly Finding[] {
    const main = mainOf(one);
    const [by] = [
      ...one.notes.flatMap(rulesOf),
      ...one.nodes.flatMap((node) =>
        node === main ? [] : node.kind === 'not' ? 'not' : 'another part of it',
      ),
    ];
    return by === undefined ? findings : asUnknown(findings, by);
  }

  #breaking(inParams: string, inResult: string, path = ''): Finding {
    return breaking(path, this.#isParams ? inParams : inResult);
  }

  #gone(a: SchemaNode): Finding {
    if (a.kind === 'literal') {
      const value = shownValue(a.value);
      return this.#breaking(`${value} is no longer taken`, `it may be ${value} now`);
    }
    const what = described(a);
    return this.#breaking(`it no longer takes ${what}`, `it may be ${what} now`);
  }

  #certain(a: SchemaNode): Finding {
    const finding = this.#breaking(
      'only certain values are taken now',
      'it is no longer one of certain values',
    );
    return isMany(a) ? finding : { ...finding, kind: 'unknown' };
  }

  #moved(kind: Finding['kind'], keyword: string, a: unknown, b: unknown): Finding {
    const [before, after] = this.#isParams ? [a, b] : [b, a];
    return {
      kind,
      path: '',
      reason: `${keyword}: was ${shownLimit(before)}, is ${shownLimit(after)}`,
    };
  }

  #idOf(node: SchemaNode): number {
    const id = this.#ids.get(node) ?? this.#ids.size;
    this.#ids.set(node, id);
    return id;
  }

  #resolved(node: SchemaNode): SchemaNode {
    let one = node;
    for (; one.kind === 'ref'; one = one.target) this.#left -= 1;
    return one;
  }
}

const tooLarge = 'the schemas are too large to compare';

const nullNode: LiteralNode = { kind: 'literal', notes: {}, value: null };
const trueNode: LiteralNode = { kind: 'literal', notes: {}, value: true };
const falseNode: LiteralNode = { kind: 'literal', notes: {}, value: false };

const anyObject: ObjectNode = {
  kind: 'object',
  notes: {},
  members: [],
  patterns: [],
  rest: undefined,
};

/** All values, by type. */
const everyType: readonly SchemaNode[] = [
  nullNode,
  trueNode,
  falseNode,
  { kind: 'number', notes: {} },
  { kind: 'string', notes: {} },
  { kind: 'array', notes: {}, prefix: [], rest: anything },
  { ...anyObject, rest: anything },
];

function caseOf(...nodes: readonly SchemaNode[]): Case {
  return { nodes, rests: [], notes: [] };
}

/** @throws TooLarge */
function product(a: readonly Case[], b: readonly Case[]): readonly Case[] {
  if (a.length > 1 && b.length > 1 && a.length * b.length > maxCases) throw new TooLarge();
  return a.flatMap((one) =>
    b.map((other) => ({
      nodes: [...new Set([...one.nodes, ...other.nodes])],
      rests: [...new Set([...one.rests, ...other.rests])],
      notes: [...one.notes, ...other.notes],
    })),
  );
}

/** The stricter of each limit of two objects; one of them, if neither implies the other. */
function stricter(a: ObjectNode, b: ObjectNode): ObjectNode {
  const [limits, others] = [a, b] as unknown as readonly Given[];
  const all = keywordsOf('object').flatMap(({ name, compare }) => {
    const [one, other] = [limits?.[name], others?.[name]];
    const isStricter =
      one === undefined || (!isNode(one) && compare?.implies(other as never, one as never));
    return other !== undefined && isStricter ? [[name, other]] : [];
  });
  return { ...a, ...Object.fromEntries(all) };
}

/** The JSON type of a node's values; undefined: several, or it is not known. */
function typeOf(node: SchemaNode): string | undefined {
  switch (node.kind) {
    case 'literal':
      return jsonTypeOf(node.value);
    case 'null':
    case 'void':
      return 'null';
    case 'boolean':
      return 'boolean';
    case 'bytes':
      return 'string';
    default:
      return limitedTypes[node.kind];
  }
}

/** The node that says the type. */
function mainOf({ nodes }: Case): SchemaNode {
  return nodes.find((node) => typeOf(node) !== undefined) ?? anything;
}

/** The scalar values of a node, if it has only few; undefined: it has others. */
function valuesOf(node: SchemaNode): readonly unknown[] | undefined {
  switch (node.kind) {
    case 'never':
    case 'undefined':
      return [];
    case 'null':
    case 'void':
      return [null];
    case 'boolean':
      return [true, false];
    case 'literal':
      return isScalar(node.value) ? [node.value] : undefined;
    default:
      return undefined;
  }
}

/** The keywords among notes that rule values out. */
function rulesOf(notes: Notes): readonly string[] {
  return comparedKeywords.filter((name) => notes[name] !== undefined);
}

const comparedKeywords = keywords.flatMap(({ name, compare }) =>
  compare === undefined ? [] : [name],
);

/** Writes no descriptions, so that they are not compared. */
const undescribed: Dialect = (node, write) => {
  const rules = rulesOf(node.notes);
  if (rules.length === Object.keys(node.notes).length) return undefined;
  return write({
    ...node,
    notes: Object.fromEntries(rules.map((name) => [name, node.notes[name]])),
  });
};

function keepsLimits(node: SchemaNode, value: unknown): boolean | undefined {
  const limits = node as unknown as Given;
  const type = limitedTypes[node.kind];
  const answers =
    type === undefined
      ? []
      : keywordsOf(type).map(({ name, check, isLast }) => {
          const limit = limits[name];
          if (limit === undefined) return true;
          // Patterns and formats are not run.
          return isLast === true ? undefined : check?.(limit as never)(value);
        });
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

function some(answers: readonly (boolean | undefined)[]): boolean | undefined {
  if (answers.includes(true)) return true;
  return answers.includes(undefined) ? undefined : false;
}

/** The lowest and the highest value, or limits outside of all values. */
function rangeOf(node: NumberNode): readonly [low: number, high: number] {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = node;
  const { maximum = Infinity, exclusiveMaximum = Infinity } = node;
  if (node.kind === 'number')
    return [Math.max(minimum, exclusiveMinimum), Math.min(maximum, exclusiveMaximum)];
  return [
    Math.max(Math.ceil(minimum), Math.floor(exclusiveMinimum) + 1),
    Math.min(Math.floor(maximum), Math.ceil(exclusiveMaximum) - 1),
  ];
}

function patternsOf({ patterns }: ObjectNode): ReadonlyMap<string, SchemaNode> {
  return new Map(patterns.map(({ pattern, node }) => [pattern, node]));
}

/** Of an object of which nothing at all is said, any object is meant. */
function isSilent({ members, patterns }: ObjectNode): boolean {
  return members.length + patterns.length === 0;
}

/** Whether certain values can't be all of a node's values. */
function isMany(node: SchemaNode): boolean {
  if (node.kind === 'string')
    return node.pattern === undefined && node.format === undefined && node.maxLength !== 0;
  if (node.kind !== 'number' && node.kind !== 'integer') return false;
  const [low, high] = rangeOf(node);
  return low === -Infinity || high === Infinity;
}

function isNode(value: unknown): value is SchemaNode {
  return (
    typeof value === 'object' && value !== null && typeof (value as SchemaNode).kind === 'string'
  );
}

function asUnknown(findings: readonly Finding[], by: string): readonly Finding[] {
  return findings.map((one) =>
    one.kind === 'unknown' ? one : unknown(one.path, `${one.reason}, unless ${by} rules that out`),
  );
}

function described(node: SchemaNode): string {
  const type = node.kind === 'integer' ? node.kind : (typeOf(node) ?? 'value');
  const [tag] = tagsOf(node);
  const rest = tag === undefined ? '' : ` with ${shownValue(tag[0])}: ${shownValue(tag[1])}`;
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}${rest}`;
}

const longestValue = 60;

/** A value of a schema in a message. */
function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}...` : text;
}

function shownLimit(limit: unknown): string {
  if (limit === undefined || limit === Infinity) return 'not limited';
  return shownValue(isNode(limit) ? writeJson(limit, undescribed) : limit);
}
