import { schemaDoc } from './docs.ts';
import { block, memberLines } from './piece.ts';
import type { Located, References, Target } from './references.ts';
import { SchemaTypes, type TypeNames } from './schema-type.ts';
import { docComment, indented, typeName, UniqueNames } from './text.ts';

interface Named {
  readonly name: string;
  readonly target: Target;
  /** The keys of the types that must be known to know this one. */
  readonly eager: Set<string>;
}

/** The types that references lead to: each is named at its first use and written once. */
export class NamedTypes implements TypeNames {
  readonly #references: References;
  readonly #named = new Map<string, Named>();
  readonly #names = new UniqueNames();
  #writing: Named | undefined;
  /** Types that are nothing but each other, which TypeScript refuses. */
  #circular: ReadonlySet<string> = new Set();

  constructor(references: References) {
    this.#references = references;
  }

  nameFor($ref: string, at: Located, eager: boolean): string {
    const target = this.#references.resolve($ref, at);
    let named = this.#named.get(target.key);
    if (named === undefined) {
      const name = this.#names.take(typeName(target.name));
      named = { name, target, eager: new Set() };
      this.#named.set(target.key, named);
    }
    if (!eager || this.#writing === undefined) return named.name;
    this.#writing.eager.add(target.key);
    return this.#circular.has(target.key) ? 'unknown' : named.name;
  }

  /** The declarations of all types that were named, and of those that these name, sorted by name. */
  declarations(): string[] {
    const texts = new Map<Named, string>();
    // Grows while it is read: writing a type names others.
    for (const named of this.#named.values()) texts.set(named, this.#declare(named));
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
    const { name, target } = named;
    const types = new SchemaTypes(this);
    const doc = docComment(schemaDoc(target.schema));
    const members = types.membersOf(target);
    if (members !== undefined)
      return `${doc}export interface ${name} ${block(memberLines(members))}\n`;
    const text = types.typeOf(target, true);
    return `${doc}export type ${name} =${text.startsWith('\n') ? indented(text) : ` ${text}`};\n`;
  }
}

/** The keys of types that need themselves, or one that does: what is left when all others are taken out. */
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
