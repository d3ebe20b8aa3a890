import { suggest } from '../../core/base/suggest.ts';
import { inSlices, inTurns, type Steps } from '../../core/base/timer.ts';
import { DistinctNames, matcherOf, type NameStyle } from '../../core/procedures/names.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { createTool, type Era, type Tool, toolText } from './tool.ts';

/** Tools of one page. */
const pageLength = 500;

/** Procedures that are looked at, or named, in one turn of the event loop: a millisecond at most. */
const perTurn = 250;

/** Some tools, as JSON texts joined by commas. */
export interface Page {
  readonly text: string;
  /** Undefined: it is the last one. */
  readonly nextCursor: string | undefined;
}

/**
 * The tools of one state of the served procedures. The texts of a page are written when it is asked for, in slices between
 * which calls run, and kept.
 */
export class Catalogue {
  readonly #tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #byProcedure: ReadonlyMap<string, Tool>;
  readonly #pages = new Map<string, Promise<Page>>();
  /** The patterns that name no procedure. */
  readonly unmatched: readonly string[];
  /** Tools, and their params whose names hosts refuse. */
  readonly refusedKeys: readonly (readonly [tool: string, key: string])[];

  private constructor(tools: readonly Tool[], unmatched: readonly string[]) {
    this.#tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#byProcedure = new Map(tools.map((tool) => [tool.procedure.name, tool]));
    this.unmatched = unmatched;
    this.refusedKeys = tools.flatMap(({ name, procedure }) => {
      const keys = (procedure.params?.members ?? []).map((member) => member.name);
      return keys.filter((key) => !hostKey.test(key)).map((key) => [name, key] as const);
    });
  }

  /** @param patterns of the procedures that are offered; empty: all */
  static async of(
    table: ReadonlyMap<string, Procedure>,
    patterns: readonly string[],
  ): Promise<Catalogue> {
    const matchers = patterns.map(matcherOf);
    const unmatched = new Set(patterns);
    const offered: Procedure[] = [];
    // All at once: the table may change between two turns.
    await inTurns([...table.values()], perTurn, (procedure) => {
      const { name, tool } = procedure;
      const named = patterns.filter((_, at) => matchers[at]?.(name));
      for (const pattern of named) unmatched.delete(pattern);
      const isNamed = patterns.length === 0 || named.length > 0;
      if (isNamed && tool !== false) offered.push(procedure);
    });
    const names = await toolNames(offered.map(({ name }) => name));
    const tools: Tool[] = [];
    await inTurns(offered, perTurn, (procedure) => {
      tools.push(createTool(names[tools.length] ?? '', procedure));
    });
    return new Catalogue(tools, [...unmatched]);
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
    const text = await inSlices(textSteps(this.#tools.slice(start, end), era));
    const nextCursor = end < this.#tools.length ? String(end) : undefined;
    return { text, nextCursor };
  }
}

function* textSteps(tools: readonly Tool[], era: Era): Steps<string> {
  const texts: string[] = [];
  for (const tool of tools) {
    texts.push(toolText(tool, era));
    yield;
  }
  return texts.join(',');
}

/** What the API of Anthropic takes as the name of a param: one other name, and it refuses the whole request of a host. */
const hostKey = /^[a-zA-Z0-9_.-]{1,64}$/;

function startOf(cursor: string): number | undefined {
  const start = /^[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : Number.NaN;
  return start % pageLength === 0 ? start : undefined;
}

/**
 * The specification allows dots in a tool's name, which several hosts that many people use refuse. A name that needs no
 * change stays.
 */
const toolStyle: NameStyle = {
  plain: (procedure) => procedure.replace(/[^\w-]/g, '_'),
  folded: (name) => name,
};

/** Names for tools, one for each procedure, in their order. */
async function toolNames(procedures: readonly string[]): Promise<string[]> {
  const distinct = new DistinctNames(toolStyle);
  await inTurns(procedures, perTurn, (procedure) => distinct.meet(procedure));
  const names: string[] = [];
  await inTurns(procedures, perTurn, (procedure) => {
    names.push(distinct.nameOf(procedure));
  });
  return names;
}
