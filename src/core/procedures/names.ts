import { createHash } from 'node:crypto';

/** Whether a pattern such as `math.*` names a procedure. A star stands for any characters. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('[^]*')}$`);
  return (name) => expression.test(name);
}

/** What names look like where a procedure's own name can't stand: among the tools of a model, in generated code. */
export interface NameStyle {
  /** The name of a procedure if no other one gets the same. Of such a name it is the name itself. */
  readonly plain: (procedure: string) => string;
  /** What is compared: two names with one folded form are the same name. */
  readonly folded: (name: string) => string;
}

/** Longest name. MCP allows 128 characters, several of its hosts 64. */
const longest = 64;

/** `_` and 8 hexadecimal digits. */
const markLength = 9;

/**
 * Other names for procedures. A procedure that needs no change keeps its name. Names that are too long, or that would be the
 * same, get a mark that depends on the procedure's name alone. Call `meet` for all procedures first.
 */
export class DistinctNames {
  readonly #style: NameStyle;
  /** How many procedures have a name, by its folded form, and how many of them need no change for it. */
  readonly #met = new Map<string, { readonly count: number; readonly unchanged: number }>();
  readonly #marked = new Set<string>();

  constructor(style: NameStyle) {
    this.#style = style;
  }

  meet(procedure: string): void {
    const name = this.#style.plain(procedure);
    const { count, unchanged } = this.#metAs(name);
    const isUnchanged = name === procedure ? 1 : 0;
    this.#met.set(this.#style.folded(name), {
      count: count + 1,
      unchanged: unchanged + isUnchanged,
    });
  }

  /** Call it once for each procedure. */
  nameOf(procedure: string): string {
    const name = this.#style.plain(procedure);
    const { count, unchanged } = this.#metAs(name);
    const isFree = count === 1 || (name === procedure && unchanged === 1);
    if (name.length <= longest && isFree) return name;
    const stem = name.slice(0, longest - markLength);
    for (let attempt = 0; ; attempt++) {
      const marked = `${stem}_${markOf(procedure, attempt)}`;
      const key = this.#style.folded(marked);
      if (this.#met.has(key) || this.#marked.has(key)) continue;
      this.#marked.add(key);
      return marked;
    }
  }

  #metAs(name: string) {
    return this.#met.get(this.#style.folded(name)) ?? { count: 0, unchanged: 0 };
  }
}

function markOf(procedure: string, attempt: number): string {
  const text = attempt === 0 ? procedure : `${procedure} ${attempt}`;
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
