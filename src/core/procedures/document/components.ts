import { capitalized } from '../../base/text.ts';
import type { Steps } from '../../base/timer.ts';
import { UniqueNames } from '../../base/unique-names.ts';
import { forEachPart, type Notes, resolved, type SchemaNode } from '../../schema/model.ts';
import { isMadeUp } from '../../schema/reading.ts';
import type { JsonSchema } from '../../schema/write-json.ts';
import type { Procedure } from '../types.ts';

/** A type that a document writes once, and refers to wherever it is used. */
export interface Component {
  readonly name: string;
  /** Its first use. A default of it is no part of the type. */
  readonly node: SchemaNode;
}

/** What documents say of a procedure. */
export type Documented = Pick<
  Procedure,
  'name' | 'params' | 'hasOrder' | 'returns' | 'stream' | 'errors' | 'doc' | 'effects'
>;

/**
 * The components of a document of some procedures, in steps.
 *
 * @param maxNames most types with a name in one schema
 * @throws RangeError for more of them
 */
export function* gatherComponents(
  procedures: readonly Documented[],
  maxNames = Number.POSITIVE_INFINITY,
): Steps<Components> {
  const components = new Components(maxNames);
  // Sorted, since a type is named after its first use: the order of registration must not change its name.
  for (const procedure of procedures.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name, params, returns, stream, errors } = procedure;
    for (const member of params?.members ?? []) components.add(member.node, member.name);
    components.add(returns, `${name} result`);
    components.add(stream?.yields, `${name} value`);
    components.add(params?.rest, `${name} params`);
    for (const [key, { data }] of Object.entries(errors?.declared ?? {}))
      components.add(data, `${name} ${key}`);
    yield;
  }
  components.nameShared();
  return components;
}

/** Notes that may differ from one use of a type to the next: two nodes that differ only in these are one type. */
const notesOfUse = ['default', 'description', 'examples'];

interface NamedType {
  readonly node: SchemaNode;
  /** Where it was met first, in words that may become its name. */
  readonly hint: string;
  /** The named types in it. */
  readonly leadsTo: Set<NamedType>;
  /** Of what it holds, without what the named types in it hold. */
  content?: number;
  component?: Component;
}

interface Use {
  readonly node: SchemaNode;
  readonly hint: string;
  readonly count: number;
}

/**
 * The types of a document that have a name, and those that are used more than once. All schemas are added first; then a node
 * is asked for its component.
 */
export class Components {
  readonly #maxNames: number;
  readonly #names = new UniqueNames();
  /** Of each node with a name, and each reference. */
  readonly #types = new Map<unknown, NamedType>();
  /** Types are equal if their numbers are. */
  readonly #numbers = new Map<string, number>();
  /** Of the nodes without a name that are worth one. */
  readonly #numberOf = new Map<unknown, number>();
  readonly #uses = new Map<number, Use>();
  readonly #byNumber = new Map<number, Component>();

  constructor(maxNames: number) {
    this.#maxNames = maxNames;
  }

  /**
   * Adds a schema that stands by itself in the document.
   *
   * @param hint where it stands, in words that may become the name of a type
   * @throws RangeError for too many types with a name: each is compared with all that it leads to
   */
  add(root: SchemaNode | undefined, hint: string): void {
    if (root === undefined) return;
    const types = this.#findTypes(root, hint);
    if (types.length > this.#maxNames) {
      throw new RangeError(
        `a schema has ${types.length} named types, at most ${this.#maxNames} are read`,
      );
    }
    const made = types.filter((type) => this.#addType(type));
    for (const { node, component } of made) {
      forEachPart(node, (part) => this.#identify(part));
      this.#addParts(node, component?.name ?? hint);
    }
    this.#identify(root);
    this.#addUse(root, hint);
  }

  nameShared(): void {
    for (const [number, { node, hint, count }] of this.#uses)
      if (count > 1) this.#byNumber.set(number, { name: this.#nameFor(node, hint), node });
  }

  /** The component that a node is a use of. */
  of(node: SchemaNode): Component | undefined {
    const number = this.#numberOf.get(node);
    return number === undefined ? this.#types.get(node)?.component : this.#byNumber.get(number);
  }

  /** Sorted by name: the order of use changes more easily than a name. */
  all(): readonly Component[] {
    return [...this.#byNumber.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The named types within a schema that were not met before. */
  #findTypes(root: SchemaNode, hint: string): readonly NamedType[] {
    const found: NamedType[] = [];
    const visit = (node: SchemaNode, where: string, leadsTo?: Set<NamedType>): void => {
      const target = resolved(node);
      if (target.name === undefined) {
        forEachPart(node, (part, step) => visit(part, below(where, step), leadsTo));
        return;
      }
      let type = this.#types.get(target);
      if (type === undefined) {
        type = { node: target, hint: where, leadsTo: new Set() };
        this.#types.set(target, type);
        found.push(type);
      }
      this.#types.set(node, type);
      leadsTo?.add(type);
    };
    visit(root, hint);
    // The loop also visits the types that it adds.
    for (const { node, hint: where, leadsTo } of found)
      forEachPart(node, (part, step) => visit(part, below(where, step), leadsTo));
    return found;
  }

  /** @returns whether the type is a new one */
  #addType(type: NamedType): boolean {
    const { name = '' } = type.node;
    const reached = new Set([type]);
    for (const one of reached) for (const next of one.leadsTo) reached.add(next);
    const contents = [...reached].map((one) => {
      one.content ??= this.#numberOfText(one.node, (inner) => inner.node.name);
      return JSON.stringify([one.node.name, one.content]);
    });
    // Two types of one name are the same if they, and all types that they lead to, are equal.
    const number = this.#number(JSON.stringify([name, contents.sort()]));
    const known = this.#byNumber.get(number);
    type.component = known ?? {
      name: isMadeUp(name) ? this.#nameFor(type.node, type.hint) : this.#unique(name),
      node: type.node,
    };
    this.#byNumber.set(number, type.component);
    return known === undefined;
  }

  /** Gives numbers to the nodes within that are worth a name, the inner ones first: their numbers stand in the others' texts. */
  #identify(node: SchemaNode): void {
    if (this.#types.has(node)) return;
    forEachPart(node, (part) => this.#identify(part));
    if (isLarge(node))
      this.#numberOf.set(
        node,
        this.#numberOfText(node, ({ component }) => component?.name),
      );
  }

  /** @param hint where it stands */
  #addUse(node: SchemaNode, hint: string): void {
    // The parts of a named type are added once.
    if (this.#types.has(node)) return;
    const number = this.#numberOf.get(node);
    if (number !== undefined) {
      const use = this.#uses.get(number);
      this.#uses.set(number, { node, hint, ...use, count: (use?.count ?? 0) + 1 });
      if (use !== undefined) return;
    }
    this.#addParts(node, hint);
  }

  #addParts(node: SchemaNode, hint: string): void {
    forEachPart(node, (part, step) => this.#addUse(part, below(hint, step)));
  }

  /** @param nameOf what stands in the text for a named type */
  #numberOfText(node: SchemaNode, nameOf: (type: NamedType) => string | undefined): number {
    const notes = Object.entries(node.notes).filter(([name]) => !notesOfUse.includes(name));
    const text = JSON.stringify(
      { ...node, notes: Object.fromEntries(notes) },
      (_key, value: unknown) => {
        const type = this.#types.get(value);
        if (type !== undefined) return [nameOf(type), ownNotes(value as SchemaNode, type.node)];
        const number = this.#numberOf.get(value);
        return number === undefined ? value : [number, ownNotes(value as SchemaNode)];
      },
    );
    return this.#number(text);
  }

  #number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    return number;
  }

  #nameFor({ notes: { title } }: SchemaNode, hint: string): string {
    const words = (typeof title === 'string' && /[A-Za-z]/.test(title) ? title : hint)
      .split(/[^A-Za-z0-9]+/)
      .filter((word) => word !== '');
    return this.#unique(words.map(capitalized).join(''));
  }

  #unique(wanted: string): string {
    return this.#names.take(wanted.replace(/[^A-Za-z0-9._-]+/g, '_') || 'Schema');
  }
}

/** Whether a schema is worth a name: an object, a choice of more than two, or a choice between two such. */
function isLarge(node: SchemaNode): boolean {
  if (node.name !== undefined) return false;
  if (node.kind === 'object') return node.members.length > 0;
  const list =
    node.kind === 'union' ? node.variants : node.kind === 'intersection' ? node.parts : [];
  return list.length > 2 || list.filter(isLarge).length > 1;
}

/** What the use of a type says beside it. */
function ownNotes({ notes }: SchemaNode, type?: SchemaNode): Notes {
  const isOwn = (name: string): boolean =>
    name in notes &&
    (name === 'default' || JSON.stringify(notes[name]) !== JSON.stringify(type?.notes[name]));
  return Object.fromEntries(notesOfUse.filter(isOwn).map((name) => [name, notes[name]]));
}

/** A reference to a component, with what the node that it stands for says beside the type. */
export function referenceTo(use: SchemaNode, { node }: Component, $ref: string): JsonSchema {
  const notes = ownNotes(use, node);
  // JSON Schema up to draft 7 ignores every keyword beside a $ref, so the $ref goes into an allOf.
  return Object.keys(notes).length === 0 ? { $ref } : { allOf: [{ $ref }], ...notes };
}

function below(hint: string, step: string | undefined): string {
  if (step === undefined || step === '') return hint;
  if (step !== '/*' && !/^\/\d+$/.test(step)) return step.slice(1);
  return hint.endsWith(' item') ? hint : `${hint} item`;
}
