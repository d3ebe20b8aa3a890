import { FormatRegistry, PatternStringExact, type TSchema } from '@sinclair/typebox';
import { cached } from '../base/cached.ts';
import { shortened } from '../base/text.ts';
import { UniqueNames } from '../base/unique-names.ts';
import { isObject } from '../base/value-kinds.ts';
import { registerFormats } from './formats.ts';
import { keywordNamed, type LimitedType, ownValueFault } from './keywords.ts';
import {
  anything,
  hasDefault,
  intersectionOf,
  type Member,
  type NamePattern,
  type SchemaNode,
  unionOf,
} from './model.ts';
import { expressionOf, unicodeFault, unicodePattern } from './pattern-syntax.ts';
import { patternFault } from './patterns.ts';
import { shownSegment } from './pointer.ts';
import {
  conjunction,
  type Draft,
  type Given,
  isOfType,
  limitedTypes,
  listOf,
  literals,
  maxDepth,
  maxParts,
  Names,
  narrowed,
  nodeOf,
  refuseAt,
} from './reading.ts';
import { givenName, placeName, References, type Root, type Target } from './references.ts';
import { bytesKind } from './type.ts';
import { checkOfKind, isSameType, isTypeBoxKind, kindFault, kindOf, noSchema } from './typebox.ts';

export interface JsonSchemaOptions {
  /**
   * What becomes of keywords that this package does not check.
   *
   * - `checked`: our own checks have the last word (results). A keyword that would be published and not checked is refused.
   * - `library`: another library validates (params). Such a keyword is a note.
   * - `document`: nobody validates here. Such a keyword is a note, and formats and patterns stay as they are written.
   */
  readonly strictness: 'checked' | 'library' | 'document';
  /** Whether base64 text is read as bytes, if it is written as `Type.Base64()` is. */
  readonly bytes?: boolean;
  /** It is TypeBox's: every schema in it has a kind. `fills`: a member with a default is not required, as in params. */
  readonly typeBox?: { readonly fills: boolean };
  /** The document that references lead into, if they lead out of the schema. */
  readonly document?: unknown;
}

/**
 * Reads a JSON Schema: draft 2020-12, or draft-07 (`items` as a list, `definitions`).
 *
 * @throws RegistrationError for a reference that leads nowhere, for a schema that is too large, and for what `strictness` refuses
 */
export function readJsonSchema(
  json: unknown,
  where: string,
  options: JsonSchemaOptions,
): SchemaNode {
  return readJsonSchemas(options, (read) => read(json, where));
}

/**
 * Reads a schema of TypeBox.
 *
 * @param fills whether defaults are filled in, as in params: a member with a default is then not required
 * @throws RegistrationError for what JSON can't carry, or what would be published and not checked
 */
export function readTypeBox(schema: TSchema, where: string, fills: boolean): SchemaNode {
  registerFormats();
  return readJsonSchema(schema, where, { strictness: 'checked', typeBox: { fills } });
}

/**
 * Reads the schemas of one document. A type that several of them refer to is one node.
 *
 * @param use is given what reads one of them. Its nodes are complete when this function returns
 * @throws as {@link readJsonSchema}
 */
export function readJsonSchemas<Result>(
  options: JsonSchemaOptions,
  use: (read: (json: unknown, where: string) => SchemaNode) => Result,
): Result {
  const reader = new JsonSchemaReader(options);
  const result = use((json, where) => reader.read(json, where));
  reader.complete();
  return result;
}

/** Where a schema stands. */
interface Place {
  readonly root: Root;
  readonly path: string;
  readonly depth: number;
  /** Within `not`: nothing is filled there, so that a default makes no member optional. */
  readonly isInNot: boolean;
  /** The types of the schema around it, which describes the same value: they hold for a part that names no type. */
  readonly types: readonly JsonType[] | undefined;
  /** A schema around it says `unevaluatedProperties` of the same value: of undeclared members nothing else is said. */
  readonly isSplit: boolean;
}

const jsonTypes = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'] as const;
type JsonType = (typeof jsonTypes)[number];

function isJsonType(type: unknown): type is JsonType {
  return (jsonTypes as readonly unknown[]).includes(type);
}

/** A list of each type alone. */
const singles = Object.fromEntries(jsonTypes.map((type) => [type, [type]])) as unknown as Readonly<
  Record<JsonType, readonly JsonType[]>
>;

/** Every value is of one of these. */
const allTypes = jsonTypes.filter((type) => type !== 'integer');

const none: Given = {};

/** Keywords beside those of one type. To the letter `oneOf` is more than a union, as which it is read of other libraries. */
const ofValueItself = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'nullable'];

const readOfArrays = ['items', 'prefixItems', 'additionalItems', 'contains'];

const readOfObjects = [
  'properties',
  'required',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'dependentRequired',
];

/** Most characters of a reference in a message. */
const maxRefLength = 80;

/** Most parts and levels of a document: its types stand in it once, and its author is not here to split them. */
const maxDocumentParts = 1_000_000;
const maxDocumentDepth = 200;

class JsonSchemaReader {
  readonly #options: JsonSchemaOptions;
  readonly #isStrict: boolean;
  readonly #isDocument: boolean;
  readonly #isTypeBox: boolean;
  readonly #maxParts: number;
  readonly #maxDepth: number;
  readonly #names: Names;
  readonly #nodes: SchemaNode[] = [];
  /** The one that is being read, or was read last. */
  #root: Root = { json: undefined, where: '' };
  /** The types that are being read. */
  readonly #open = new Set<object>();
  /** The types that have a name. Their nodes are read, or are being read, or wait in `#waiting`. */
  readonly #named = new Map<object, string>();
  readonly #unique = new UniqueNames();
  /** Of TypeBox, the schema of each `$id`: the one that is met first, of which there may be copies. */
  readonly #ids = new Map<string, object>();
  /** Types that references lead to, to be read when the schema itself has been: a chain of them is no depth. */
  readonly #waiting = new Map<object, Place>();
  readonly #references: References;
  #parts = 0;

  constructor(options: JsonSchemaOptions) {
    this.#options = options;
    this.#isStrict = options.strictness === 'checked';
    this.#isDocument = options.strictness === 'document';
    this.#isTypeBox = options.typeBox !== undefined;
    this.#maxParts = this.#isDocument ? maxDocumentParts : maxParts;
    this.#maxDepth = this.#isDocument ? maxDocumentDepth : maxDepth;
    this.#names = new Names(this.#isDocument);
    this.#references = new References(options.document);
  }

  read(json: unknown, where: string): SchemaNode {
    this.#root = { json, where };
    const node = this.#part(json, topOf(this.#root));
    this.#nodes.push(node);
    return node;
  }

  complete(): void {
    // Reading one of them may add others, which the loop comes to.
    for (const [json, at] of this.#waiting) this.#type(json as Given, at);
    this.#names.link(this.#nodes, (fault) => this.#refuse(topOf(this.#root), fault));
  }

  #refuse({ root, path }: Place, fault: string): never {
    refuseAt(root.where, path, fault);
  }

  #part(json: unknown, at: Place): SchemaNode {
    if (typeof json === 'boolean') return { kind: json ? 'unknown' : 'never', notes: {} };
    this.#parts += 1;
    if (this.#parts > this.#maxParts) this.#refuse(topOf(at.root), this.#limitFault('parts'));
    if (at.depth > this.#maxDepth) this.#refuse(at, this.#limitFault('levels'));
    if (!isObject(json)) {
      if (this.#isStrict)
        this.#refuse(at, this.#isTypeBox ? noSchema : 'a JSON Schema is an object, true or false');
      return { kind: 'unknown', notes: {} };
    }
    const { $id } = json;
    if (typeof $id === 'string' && this.#options.document === undefined) {
      if (this.#isTypeBox && !this.#isFirst(json, $id, at)) return this.#reference($id, at);
      // It is read at the first place where it stands, unless a reference has led to it before.
      if (this.#named.has(json)) return this.#refTo(json, $id);
      this.#nameOf(json, $id);
    }
    return this.#type(json, at);
  }

  #limitFault(what: 'parts' | 'levels'): string {
    if (!this.#isTypeBox)
      return `its JSON Schema has more than ${this.#maxParts} parts or ${this.#maxDepth} levels, written out`;
    return what === 'parts'
      ? `a schema has at most ${maxParts} parts, written out; declare types that it uses again once, with Type.Module`
      : `schemas nest at most ${maxDepth} levels; use Type.Recursive for a type that holds itself`;
  }

  #kindOf(json: unknown, at: Place): string {
    const kind = kindOf(json);
    const fault = kindFault(json, kind);
    if (kind === undefined || fault !== undefined) this.#refuse(at, fault ?? noSchema);
    return kind;
  }

  /** Whether a schema of TypeBox is the one that stands for its `$id`, and not a copy of it. */
  #isFirst(json: object, $id: string, at: Place): boolean {
    const first = cached(this.#ids, $id, () => json);
    // One node stands for one $id.
    if (!isSameType(first, json))
      this.#refuse(at, `two different schemas have the $id ${JSON.stringify($id)}; rename one`);
    return first === json;
  }

  /** A schema at its place, and under its name if a reference leads to it. */
  #type(json: Given, at: Place): SchemaNode {
    this.#waiting.delete(json);
    this.#open.add(json);
    const node = this.#body(json, at);
    this.#open.delete(json);
    // It has a name by now if a reference within it leads to it.
    const name = this.#named.get(json);
    return name === undefined ? node : this.#names.add(name, unnamed(node));
  }

  /** A list of schemas of the value itself. */
  #list(schemas: unknown, at: Place): SchemaNode[] {
    return listOf<unknown>(schemas).map((one) => this.#part(one, inPlace(at)));
  }

  #body(json: Given, at: Place): SchemaNode {
    if (!this.#isTypeBox) return this.#read(withNewNames(json), at);
    const kind = this.#kindOf(json, at);
    switch (kind) {
      case 'Undefined':
      case 'Void':
        return this.#nodeOf(json, { kind: kind === 'Void' ? 'void' : 'undefined' }, at);
      case 'Literal':
        return this.#nodeOf(json, { kind: 'literal', value: json.const }, at);
      case 'Intersect':
        // TypeBox says that it is an object only if each part is one.
        return this.#read({ ...json, type: undefined }, at);
      case 'Object':
        if (!isObject(json.properties))
          this.#refuse(at, 'an object schema needs properties; write Type.Object({ ... })');
        return this.#read(withNewNames(json), at);
      case 'Record':
        return this.#read(withNewNames(json), at);
      case 'Import':
        // Those that no reference leads to are not read.
        for (const [name, one] of Object.entries((json.$defs ?? {}) as object))
          this.#isFirst(one as Given, name, at);
        break;
      default:
        if (!isTypeBoxKind(kind))
          return { kind: 'custom', notes: { ...json }, check: checkOfKind(kind, json) };
    }
    return this.#read(json, at);
  }

  #nodeOf(given: Given, draft: Draft, at: Place): SchemaNode {
    return nodeOf(given, draft, (fault) => this.#refuse(at, fault));
  }

  #read(json: Given, at: Place): SchemaNode {
    const types = this.#typesOf(json, at);
    if (!holdsOne(json, ofValueItself)) return this.#own(json, types, false, at);
    const isSplit =
      json.unevaluatedProperties !== undefined &&
      holdsOne(json, ['$ref', 'allOf', 'anyOf', 'oneOf']);
    const parts = {
      ...at,
      types: types === 'any' ? at.types : types,
      isSplit: at.isSplit || isSplit,
    };
    const { allOf, anyOf, oneOf, not, $ref } = json;
    const others = typeof $ref === 'string' ? [this.#reference($ref, parts)] : [];
    others.push(...this.#list(allOf, parts));
    if (Array.isArray(anyOf)) others.push(unionOf(this.#list(anyOf, parts)));
    // A library means by oneOf what its unions take, and tells their variants apart.
    if (Array.isArray(oneOf) && !this.#isTypeBox)
      others.push({
        kind: 'union',
        notes: {},
        variants: this.#list(oneOf, parts),
        isExclusive: true,
      });
    const isNever = not === true || (isObject(not) && Object.keys(not).length === 0);
    if (!isNever && not !== undefined)
      others.push({
        kind: 'not',
        notes: {},
        node: this.#part(not, { ...inPlace(parts), isInNot: true }),
      });
    const said = this.#own(json, types, isSplit, { ...at, isSplit: parts.isSplit });
    // Documents say of an intersection of objects that it is an object.
    const isSaidTwice =
      others.length > 0 &&
      !readOfObjects.some((keyword) => keyword !== 'type' && json[keyword] !== undefined) &&
      [said, ...others].every(({ kind }) => kind === 'object');
    const own: SchemaNode = isSaidTwice ? { kind: 'unknown', notes: said.notes } : said;
    if (isNever) return { kind: 'never', notes: own.notes };
    if (isSplit && this.#isStrict && !this.#isTypeBox && ![own, ...others].every(declaresAlways))
      this.#refuse(
        at,
        'unevaluatedProperties stands beside a union; write additionalProperties in its variants',
      );
    if (isSplit)
      return {
        kind: 'intersection',
        notes: own.notes,
        parts: [...(own.kind === 'unknown' ? [] : [{ ...own, notes: {} }]), ...others],
        unevaluated: this.#rest(json.unevaluatedProperties, at),
      };
    const isNullable = this.#isDocument && json.nullable === true;
    const node = own.kind === 'unknown' ? allOfThem(own, others) : conjunction(own, others);
    // OpenAPI 3.0 has no list of types.
    if (!isNullable) return node;
    return unionOf(
      [
        { ...node, notes: {} },
        { kind: 'null', notes: {} },
      ],
      node.notes,
    );
  }

  /** `any`: no type limits the values, and no keyword is about one type. */
  #typesOf(json: Given, at: Place): readonly JsonType[] | 'any' {
    const { type } = json;
    if (type !== undefined) {
      if (isJsonType(type)) return singles[type];
      const listed = new Set(Array.isArray(type) ? (type as unknown[]) : [type]);
      const known = [...listed].filter(isJsonType);
      if (known.length > 0 && known.length === listed.size)
        return known.filter((one) => one !== 'integer' || !listed.has('number'));
      if (this.#isStrict)
        this.#refuse(
          at,
          `the type ${JSON.stringify(type)} is none that JSON Schema has; write one or several of ${jsonTypes.join(', ')}`,
        );
      return 'any';
    }
    const about = typesOfKeywords(json);
    if (about.size === 0 || this.#isTypeBox) return 'any';
    if (at.types !== undefined) return at.types;
    if (!this.#isStrict) {
      // Authors leave the type out and mean it. To the letter, `{ properties }` takes each text and number.
      if (holdsOne(json, ['properties', 'patternProperties', 'additionalProperties', 'required']))
        return ['object'];
      if (holdsOne(json, ['items', 'prefixItems'])) return ['array'];
      if (this.#options.strictness === 'library') return 'any';
    }
    return allTypes;
  }

  /** The node of the schema's own keywords, without the schemas that stand beside them. */
  #own(json: Given, types: readonly JsonType[] | 'any', isSplit: boolean, at: Place): SchemaNode {
    const refuse = (fault: string): never => this.#refuse(at, fault);
    const { given, notes } = this.#sorted(json, types, isSplit);
    const withNotes = (node: SchemaNode): SchemaNode =>
      notes === none ? node : { ...node, notes: { ...node.notes, ...notes } };
    const values = valuesOf(json);
    if (types === 'any') {
      const node = withNotes(nodeOf(given, { kind: 'unknown' }, refuse));
      return values === undefined ? node : { ...literals(values), notes: node.notes };
    }
    const [only] = types;
    if (only !== undefined && types.length === 1) {
      const draft = this.#draft(only, given, at, kindOf(json) === bytesKind);
      const node = withNotes(nodeOf(given, draft, refuse));
      return values === undefined ? node : this.#narrowed(node, only, values, json, at);
    }
    const fitting = types.filter((type) => values?.some((value) => isOfType(value, type)) ?? true);
    if (fitting.length === 0 && this.#isStrict)
      refuse('none of the values of enum is one of its types; write some that are');
    const variants = fitting.map((type) => {
      const limited = limitedTypes[type];
      const limits = limited === undefined ? {} : keywordsAbout(given, limited);
      const node = nodeOf(limits, this.#draft(type, given, at, false), refuse);
      return values === undefined ? node : this.#narrowed(node, type, values, json, at);
    });
    const shared = keywordsAbout(given, undefined);
    return withNotes(nodeOf(shared, { kind: 'union', variants: flat(variants) }, refuse));
  }

  /** The keywords that a node may have, and those that are notes because nothing here checks them. */
  #sorted(
    json: Given,
    types: readonly JsonType[] | 'any',
    isSplit: boolean,
  ): { readonly given: Given; readonly notes: Given } {
    if (this.#isTypeBox && !isSplit) return { given: json, notes: none };
    const given: Record<string, unknown> = {};
    const notes: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(json)) {
      // The intersection has it.
      if (value === undefined || (isSplit && keyword === 'unevaluatedProperties')) continue;
      if (ofValueItself.includes(keyword) && this.#reads(keyword)) continue;
      const row = keywordNamed(keyword);
      const isLimit = row?.type !== undefined && row.describes !== true;
      const isUnread =
        row?.instead !== undefined ||
        (isLimit && (types === 'any' || ownValueFault(row, value) !== undefined));
      // A type that nobody knows is shown.
      const isUnknown = keyword === 'type' && types === 'any';
      if (isUnknown || (isUnread && !this.#isStrict)) notes[keyword] = value;
      else given[keyword] = value;
    }
    return { given, notes };
  }

  /** Whether a keyword that stands beside those of one type is read here. */
  #reads(keyword: string): boolean {
    if (keyword === 'oneOf') return !this.#isTypeBox;
    return keyword !== 'nullable' || this.#isDocument;
  }

  #draft(type: JsonType, given: Given, at: Place, isBytes: boolean): Draft {
    switch (type) {
      case 'array':
        return this.#array(given, at);
      case 'object':
        return this.#object(given, at);
      case 'string':
        return this.#string(given, isBytes);
      default:
        return { kind: type };
    }
  }

  #string({ format, pattern, contentEncoding, maxBytes }: Given, isBytes: boolean): Draft {
    const isMarked = format === 'byte' && contentEncoding === 'base64';
    if (isBytes || (this.#options.bytes === true && isMarked)) {
      const reads = ['format', 'contentEncoding', 'maxBytes', 'maxLength'];
      return { kind: 'bytes', maxBytes, reads };
    }
    if (this.#isDocument || this.#isTypeBox) return { kind: 'string' };
    // What zod gives for endsWith begins so. It says nothing, and a search for it takes time with the square of the length.
    const searched =
      typeof pattern === 'string' ? unicodePattern(pattern).replace(/^\.\*/, '') : undefined;
    const isKnown = typeof format === 'string' && FormatRegistry.Has(format);
    // A known format says what its library's pattern says. A pattern of the author's, which the library runs too, may be at fault.
    if (isKnown && (searched === undefined || patternFault(searched) === undefined))
      return { kind: 'string', reads: ['pattern'] };
    // Other formats are left out: only their library knows them.
    const reads = isKnown ? [] : ['format'];
    return searched === undefined || searched === pattern
      ? { kind: 'string', reads }
      : { kind: 'string', pattern: searched, reads: [...reads, 'pattern'] };
  }

  #array(given: Given, at: Place): Draft {
    const { items, prefixItems, additionalItems, contains } = given;
    // Before the draft 2020-12, a list of `items` was what `prefixItems` is now.
    const isOld = !Array.isArray(prefixItems) && Array.isArray(items);
    const prefix = listOf<unknown>(isOld ? items : prefixItems);
    let rest = isOld ? additionalItems : items;
    // The tuples of valibot say nothing of further items, and their types have none.
    if (isOld && !this.#isDocument) rest ??= false;
    // So documents write a tuple without items.
    if (prefix.length === 0 && given.maxItems === 0) rest ??= false;
    return {
      kind: 'array',
      prefix: prefix.map((item, index) => this.#part(item, within(at, `/${index}`))),
      rest:
        rest === undefined && this.#isDocument
          ? anything
          : this.#part(this.#isTypeBox ? rest : (rest ?? true), within(at, '/*')),
      contains: contains === undefined ? undefined : this.#part(contains, within(at, '/*')),
      reads: readOfArrays,
    };
  }

  #object(given: Given, at: Place): Draft {
    const { properties, patternProperties, propertyNames, dependentRequired } = given;
    const required = new Set(listOf<unknown>(given.required));
    const members = Object.entries(isObject(properties) ? properties : {}).map(
      ([name, schema]): Member => {
        const node = this.#part(schema, within(at, shownSegment(name)));
        const isFilled = this.#options.typeBox?.fills === true && !at.isInNot && hasDefault(node);
        return { name, node, isRequired: required.delete(name) && !isFilled };
      },
    );
    const { patterns, areAllRead } = this.#patterns(patternProperties, at);
    let additional = given.additionalProperties;
    // An object that declares no members may have members of every name, and of those that match no pattern.
    if (
      !this.#isDocument &&
      !this.#isTypeBox &&
      !at.isSplit &&
      (!isObject(properties) || isObject(patternProperties))
    )
      additional ??= true;
    if (!areAllRead) additional = true;
    // Params of unknown names are refused unless the schema says otherwise.
    if (this.#options.typeBox?.fills === true && at.depth === 0) additional ??= false;
    for (const name of required) {
      if (typeof name !== 'string') continue;
      const isMatched = this.#mayMatch(patterns, name);
      if (this.#isStrict && additional === false && !isMatched)
        this.#refuse(
          at,
          `required names ${JSON.stringify(name)}, which properties does not declare; declare it`,
        );
      const step = within(at, shownSegment(name));
      // A node for each: every part stands at one place.
      const node = this.#part(isMatched ? true : (additional ?? true), step);
      members.push({ name, node, isRequired: true });
    }
    return {
      kind: 'object',
      members,
      patterns,
      rest: this.#rest(additional, at),
      propertyNames: this.#memberNames(propertyNames, at),
      dependentRequired: isObject(dependentRequired) ? dependentRequired : undefined,
      reads: readOfObjects,
    };
  }

  /** What `additionalProperties` and its like say of the members that nothing else declares. */
  #rest(given: unknown, at: Place): SchemaNode | undefined {
    return given === undefined ? undefined : this.#part(given, within(at, '/*'));
  }

  #patterns(given: unknown, at: Place) {
    const patterns: NamePattern[] = [];
    let areAllRead = true;
    for (const [source, schema] of Object.entries(isObject(given) ? given : {})) {
      const pattern = this.#isDocument || this.#isTypeBox ? source : unicodePattern(source);
      const names = expressionOf(pattern);
      if (names !== undefined)
        patterns.push({ pattern, names, node: this.#part(schema, within(at, '/*')) });
      else if (this.#isDocument) areAllRead = false;
      else this.#refuse(at, `patternProperties: ${unicodeFault(pattern)}`);
    }
    return { patterns, areAllRead };
  }

  /** The author of a document may have written a pattern that takes for ever: none of them is run. */
  #mayMatch(patterns: readonly NamePattern[], name: string): boolean {
    return this.#isDocument ? patterns.length > 0 : patterns.some(({ names }) => names.test(name));
  }

  #memberNames(given: unknown, at: Place): SchemaNode | undefined {
    if (given === undefined) return undefined;
    const node = this.#part(given, { ...inPlace(at), types: ['string'] });
    // Every name is a text: zod and valibot say so of each record.
    const saysNothing =
      node.kind === 'unknown' || (node.kind === 'string' && Object.keys(node).length === 2);
    return saysNothing ? undefined : node;
  }

  /** The values of enum and const that are of the node's type. */
  #narrowed(
    node: SchemaNode,
    type: JsonType,
    values: readonly unknown[],
    json: Given,
    at: Place,
  ): SchemaNode {
    const fitting = values.filter((value) => isOfType(value, type));
    const refuse = (fault: string): never => this.#refuse(at, fault);
    if (fitting.length === 0 && this.#isStrict)
      refuse(`none of the values of enum is one of this ${type}; write some that are`);
    if (type === 'array' || type === 'object') {
      const isLimited = typesOfKeywords(json).has(type);
      if (isLimited) return conjunction(node, [literals(fitting)]);
    } else if (this.#isStrict && type !== 'null') {
      return narrowed({ enum: fitting }, node, refuse);
    }
    return { ...literals(fitting), notes: node.notes };
  }

  #reference($ref: string, at: Place): SchemaNode {
    const first = this.#ids.get($ref);
    const { json: target, root } =
      first === undefined ? this.#targetOf($ref, at) : { json: first, root: at.root };
    // What holds no reference never holds itself.
    if (!isObject(target)) return this.#part(target, inPlace(at));
    if (this.#isTypeBox) this.#ids.set($ref, target);
    if (!this.#named.has(target) && !this.#open.has(target))
      this.#waiting.set(target, {
        ...topOf(root),
        depth: 1,
        path: this.#isTypeBox ? '' : shortened($ref, maxRefLength),
        isInNot: at.isInNot,
      });
    return this.#refTo(target, $ref);
  }

  #refTo(target: Given, $ref: string): SchemaNode {
    const to = this.#names.shown(this.#nameOf(target, $ref));
    // `Names.link` sets the target.
    return { kind: 'ref', to, notes: {} } as unknown as SchemaNode;
  }

  /** The name of a type, of its own: two types may be called the same in two places of a document. */
  #nameOf(target: Given, $ref: string): string {
    return cached(this.#named, target, () => {
      const { $id, title } = target;
      const id = this.#options.document === undefined ? $id : undefined;
      const place = this.#isDocument ? (placeName($ref) ?? title) : undefined;
      const given = id ?? givenName($ref) ?? place;
      return this.#unique.take(typeof given === 'string' ? given : this.#madeUp());
    });
  }

  #madeUp(): string {
    let count = 0;
    while (this.#unique.has(`T${count}`)) count += 1;
    return `T${count}`;
  }

  #targetOf($ref: string, at: Place): Target {
    const target = this.#references.targetOf($ref, at.root);
    if (target !== undefined) return target;
    const shown = JSON.stringify(shortened($ref, maxRefLength));
    if (this.#isTypeBox)
      this.#refuse(
        topOf(at.root),
        `a reference in it leads nowhere: no schema in it has the $id ${shown}; write the $id of one`,
      );
    const leads = $ref.startsWith('#')
      ? 'leads nowhere in the document'
      : 'leads out of the document: only references within it (#/...) are followed';
    this.#refuse(
      at,
      this.#isDocument
        ? `the $ref ${shown} ${leads}`
        : `its JSON Schema refers to ${shown}, which it does not have`,
    );
  }
}

function topOf(root: Root): Place {
  return { root, path: '', depth: 0, isInNot: false, types: undefined, isSplit: false };
}

/** The place of a schema of a part of the value. */
function within(at: Place, step: string): Place {
  const { root, path, depth, isInNot } = at;
  return { root, path: path + step, depth: depth + 1, isInNot, types: undefined, isSplit: false };
}

/** The place of a schema of the value itself. */
function inPlace(at: Place): Place {
  return { ...at, depth: at.depth + 1 };
}

/** A union of one variant is the variant, and the variants of a union within are its own. Both come of enum and type lists. */
function flat(variants: readonly SchemaNode[]): readonly SchemaNode[] {
  return variants.flatMap((one) => (one.kind === 'union' ? one.variants : [one]));
}

/** The node of a schema that says no more of its values than the schemas beside its keywords. */
function allOfThem(own: SchemaNode, others: readonly SchemaNode[]): SchemaNode {
  const [first, ...more] = others;
  if (first === undefined) return own;
  const isDescribed = Object.keys(own.notes).length > 0;
  if (more.length === 0 && !isDescribed) return first;
  // The node of a name stays one: references lead to it.
  if (more.length === 0 && first.name === undefined)
    return { ...first, notes: { ...first.notes, ...own.notes } };
  return intersectionOf(others, own.notes);
}

/** Whether the members that a node declares are the same for every value: those of a union depend on the variant. */
function declaresAlways(node: SchemaNode): boolean {
  if (node.kind === 'intersection') return node.parts.every(declaresAlways);
  return node.kind !== 'union' && node.kind !== 'ref';
}

/** A node that may be given a name: one that has another stays as a part of it. */
function unnamed(node: SchemaNode): SchemaNode {
  return node.name === undefined ? node : intersectionOf([node]);
}

/** The types that the keywords of a schema are about. */
function typesOfKeywords(json: Given): ReadonlySet<LimitedType> {
  const types = new Set<LimitedType>();
  for (const keyword of Object.keys(json)) {
    const type = typeOfKeyword(keyword);
    if (type !== undefined) types.add(type);
  }
  return types;
}

function typeOfKeyword(keyword: string): LimitedType | undefined {
  const row = keywordNamed(keyword);
  if (row?.describes === true || row?.instead !== undefined) return undefined;
  if (readOfArrays.includes(keyword)) return 'array';
  return readOfObjects.includes(keyword) ? 'object' : row?.type;
}

/** @param type undefined: the keywords that are about values of any type */
function keywordsAbout(given: Given, type: LimitedType | undefined): Given {
  return Object.fromEntries(
    Object.entries(given).filter(([keyword]) => typeOfKeyword(keyword) === type),
  );
}

function holdsOne(json: Given, keywords: readonly string[]): boolean {
  return keywords.some((keyword) => json[keyword] !== undefined);
}

/** A schema with the keywords that nodes have, where others say the same. */
function withNewNames(json: Given): Given {
  if (!holdsOne(json, ['dependencies', 'patternProperties', 'unevaluatedProperties'])) return json;
  const { dependencies, unevaluatedProperties, ...others } = json;
  const named: Record<string, unknown> = { ...others };
  // Draft-07 has one keyword for names that others depend on and for schemas that do.
  if (isObject(dependencies) && Object.values(dependencies).every(Array.isArray)) {
    const { dependentRequired } = json;
    named.dependentRequired = {
      ...dependencies,
      ...(isObject(dependentRequired) ? dependentRequired : {}),
    };
  } else if (dependencies !== undefined) named.dependencies = dependencies;
  // So TypeBox writes a record of all names; the pattern would leave out those with a line break.
  const { properties, patternProperties: patterns, additionalProperties: more = false } = json;
  if (isObject(patterns) && properties === undefined && more === false) {
    const [first, ...more] = Object.entries(patterns);
    if (first?.[0] === PatternStringExact && more.length === 0) {
      delete named.patternProperties;
      named.additionalProperties = first[1];
    }
  }
  // Without schemas beside it that evaluate members, it is about those that the schema itself does not declare.
  if (unevaluatedProperties === undefined) return named;
  if (holdsOne(json, evaluating)) named.unevaluatedProperties = unevaluatedProperties;
  else named.additionalProperties ??= unevaluatedProperties;
  return named;
}

const evaluating = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', '$dynamicRef'];

function valuesOf(json: Given): readonly unknown[] | undefined {
  if (json.const !== undefined) return [json.const];
  return Array.isArray(json.enum) ? (json.enum as unknown[]) : undefined;
}
