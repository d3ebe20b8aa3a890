import { schemaDoc } from './docs.ts';
import { block, memberLines } from './piece.ts';
import type { Located, References, Target } from './references.ts';
import { SchemaTypes, type TypeNames } from './schema-type.ts';
import { docComment, indented, typeName, UniqueNames } from './text.ts';

interface Named {
  readonly name: string;
  readonly target: Target;
  /** Keys of the types that TypeScript must resolve before this one: it refers to them outside of members and items. */
  readonly eager: Set<string>;
  /** Whether it is the type of results alone. In params any bytes are taken. */
  isResult: boolean;
  usesBytes: boolean;
}

/** The types that references lead to. Each type gets its name at its first use, and is written once. */
export class NamedTypes implements TypeNames {
  readonly #references: References;
  readonly #named = new Map<string, Named>();
  readonly #names = new UniqueNames();
  #usesBytes = false;
  #writing: Named | undefined;
  /** Types of results that params were found to hold. */
  readonly #outdated = new Set<Named>();
  /** Keys of types that refer only to themselves or to each other (`type A = B; type B = A`): TypeScript refuses them. */
  #circular: ReadonlySet<string> = new Set();

  constructor(references: References) {
    this.#references = references;
  }

  nameFor($ref: string, at: Located, eager: boolean, isResult: boolean): string {
    const target = this.#references.resolve($ref, at);
    let named = this.#named.get(target.key);
    if (named === undefined) {
      const name = this.#names.take(typeName(target.name));
      named = { name, target, eager: new Set(), isResult, usesBytes: false };
      this.#named.set(target.key, named);
    }
    if (named.isResult && !isResult) {
      named.isResult = false;
      this.#outdated.add(named);
    }
    if (!eager || this.#writing === undefined) return named.name;
    this.#writing.eager.add(target.key);
    return this.#circular.has(target.key) ? 'unknown' : named.name;
  }

  bytesOfResult(): string {
    if (this.#writing === undefined) this.#usesBytes = true;
    else this.#writing.usesBytes = true;
    return 'Bytes';
  }

  /** Whether `bytesOfResult()` is in the text, once the declarations are written. */
  get usesBytes(): boolean {
    return this.#usesBytes || [...this.#named.values()].some((named) => named.usesBytes);
  }

  /** The declarations of all named types, and of the types that these refer to, sorted by name. */
  declarations(): string[] {
    const texts = new Map<Named, string>();
    // The loop also visits types that it adds: writing one type names others.
    for (const named of this.#named.values()) texts.set(named, this.#declare(named));
    // A type that params hold was written as one of results. What it refers to may be held by params then, too.
    for (const named of this.#outdated) texts.set(named, this.#declare(named));
    this.#circular = circularOf(this.#named);
    for (const key of this.#circular) {
      const named = this.#named.get(key);
      if (named !== undefined) texts.set(named, this.#declare(named));
    }
    return [...texts]
      .sort(([a], [b]) => (a.name < b.name ? -1 : 1))
      .map(([, declaration]) => declaration);
  }

  #declare(named: Named): string {
    this.#writing = named;
    named.usesBytes = false;
    const { name, target, isResult } = named;
    const types = new SchemaTypes(this, { isResult });
    const doc = docComment(schemaDoc(target.schema));
    const members = types.membersOf(target);
    if (members !== undefined)
      return `${doc}export interface ${name} ${block(memberLines(members))}\n`;
    const text = types.typeOf(target, true);
    return `${doc}export type ${name} =${text.startsWith('\n') ? indented(text) : ` ${text}`};\n`;
  }
}

/**
 * The keys of types that eagerly refer to themselves, directly or through others, and of types that eagerly refer to such
 * a type. Types that refer to nothing are taken out, then those that referred only to them, and so on. The rest is
 * circular.
 */
function circularOf(named: ReadonlyMap<string, Named>): Set<string> {
  const users = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [key, { eager }] of named) {
    open.set(key, eager.size);
    for (const other of eager) {
      const list = users.get(other);
      if (list === undefined) users.set(other, [key]);
      else list.push(key);
    }
  }
  const ready = [...open].filter(([, count]) => count === 0).map(([key]) => key);
  for (const key of ready) {
    for (const user of users.get(key) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) ready.push(user);
    }
  }
  return new Set([...open].filter(([, count]) => count > 0).map(([key]) => key));
}
