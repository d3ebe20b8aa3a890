import { clockMs } from '../base/clock.ts';
import { suggest } from '../base/suggest.ts';
import type { Procedure } from '../router/types.ts';
import { createTool, type Era, type Tool, toolText } from './tool.ts';
import { toolNames } from './tool-names.ts';

/** Tools of one page. */
export const pageLength = 500;

/** How long texts are written in one turn of the event loop, in which nobody else is served. */
const sliceMs = 3;

/** Some tools, as JSON texts joined by commas. */
export interface Page {
  readonly text: string;
  /** Undefined: it is the last one. */
  readonly nextCursor: string | undefined;
}

/** Whether a pattern such as `math.*` names a procedure. A star stands for any characters. */
function matcherOf(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('[^]*')}$`);
  return (name) => expression.test(name);
}

/**
 * The tools of one state of the served procedures. Names are found at once; the texts of a page are written when it is
 * asked for, in slices between which calls run, and kept.
 */
export class Catalogue {
  readonly #tools: readonly Tool[];
  readonly #byName = new Map<string, Tool>();
  readonly #byProcedure = new Map<string, Tool>();
  readonly #pages = new Map<string, Promise<Page>>();
  /** The patterns that name no procedure. */
  readonly unmatched: readonly string[];

  /** @param patterns of the procedures that are offered; empty: all */
  constructor(table: ReadonlyMap<string, Procedure>, patterns: readonly string[]) {
    const matchers = patterns.map(matcherOf);
    const offered = [...table.values()].filter(
      ({ name, tool }) =>
        tool !== false && (matchers.length === 0 || matchers.some((matches) => matches(name))),
    );
    const all = [...table.keys()];
    this.unmatched = patterns.filter((_, i) => !all.some((name) => matchers[i]?.(name)));
    const names = toolNames(offered.map(({ name }) => name));
    this.#tools = offered.map((procedure, i) => createTool(names[i] ?? '', procedure));
    for (const tool of this.#tools) {
      this.#byName.set(tool.name, tool);
      this.#byProcedure.set(tool.procedure.name, tool);
    }
  }

  get size(): number {
    return this.#tools.length;
  }

  /** @param name of the tool, or of the procedure itself */
  find(name: string): Tool | undefined {
    return this.#byName.get(name) ?? this.#byProcedure.get(name);
  }

  /** The tool whose name is nearest to one that is not known. */
  nearest(name: string): string | undefined {
    return suggest(name, this.#byName.keys());
  }

  /**
   * @param cursor as a page before it named it; undefined: the first page
   * @returns undefined for a cursor that no page has named
   */
  page(cursor: string | undefined, era: Era): Promise<Page> | undefined {
    const start = cursor === undefined ? 0 : startOf(cursor);
    if (start === undefined || (start > 0 && start >= this.#tools.length)) return undefined;
    const key = `${era} ${start}`;
    let page = this.#pages.get(key);
    if (page === undefined) {
      page = this.#write(start, era);
      this.#pages.set(key, page);
    }
    return page;
  }

  async #write(start: number, era: Era): Promise<Page> {
    const end = Math.min(start + pageLength, this.#tools.length);
    const texts: string[] = [];
    let until = clockMs() + sliceMs;
    for (const tool of this.#tools.slice(start, end)) {
      texts.push(toolText(tool, era));
      if (clockMs() < until) continue;
      await new Promise((resolve) => setImmediate(resolve));
      until = clockMs() + sliceMs;
    }
    const nextCursor = end < this.#tools.length ? String(end) : undefined;
    return { text: texts.join(','), nextCursor };
  }
}

function startOf(cursor: string): number | undefined {
  const start = /^[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : Number.NaN;
  return start % pageLength === 0 ? start : undefined;
}
