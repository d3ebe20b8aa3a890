/** What TypeBox's modules of registries export. */
export interface Registry<Check> {
  Entries(): Map<string, Check>;
  Clear(): void;
  Delete(name: string): boolean;
  Has(name: string): boolean;
  Set(name: string, check: Check): void;
  Get(name: string): Check | undefined;
}

export type FormatCheck = (value: string) => boolean;
// biome-ignore lint/suspicious/noExplicitAny: as TypeBox declares it, for any schema
export type TypeCheck = (schema: any, value: unknown) => boolean;

/**
 * Stands in the bundle where TypeBox has a registry. TypeBox is bundled, since it is 220 small files; but a program
 * registers formats and types with the TypeBox that it imports itself. So the bundled one uses the registry of that one.
 */
class SharedRegistry<Check> implements Registry<Check> {
  #used: Registry<Check>;

  constructor() {
    const own = new Map<string, Check>();
    this.#used = {
      Entries: () => new Map(own),
      Clear: () => own.clear(),
      Delete: (name) => own.delete(name),
      Has: (name) => own.has(name),
      Set: (name, check) => void own.set(name, check),
      Get: (name) => own.get(name),
    };
  }

  readonly Entries = (): Map<string, Check> => this.#used.Entries();
  readonly Clear = (): void => this.#used.Clear();
  readonly Delete = (name: string): boolean => this.#used.Delete(name);
  readonly Has = (name: string): boolean => this.#used.Has(name);
  readonly Set = (name: string, check: Check): void => this.#used.Set(name, check);
  readonly Get = (name: string): Check | undefined => this.#used.Get(name);

  /** What has been registered here goes along, where the other one has nothing by that name. */
  shareWith(other: Registry<Check>): void {
    for (const [name, check] of this.#used.Entries()) {
      if (!other.Has(name)) other.Set(name, check);
    }
    this.#used = other;
  }
}

export const formats = new SharedRegistry<FormatCheck>();
export const types = new SharedRegistry<TypeCheck>();
