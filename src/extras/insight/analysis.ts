/** What profiles say, for the command and for the page in the browser: no module of Node is used here. */

/** The CPU profiles of a process's threads. */
export interface Profile {
  /** How long it took. */
  readonly ms: number;
  readonly intervalMs: number;
  readonly threads: readonly ThreadProfile[];
}

interface ThreadHead {
  readonly name: string;
  /** 0: the main thread. */
  readonly threadId: number;
}

/** The profile of a thread, or why there is none. */
export type ThreadProfile = ThreadHead & (TakenProfile | { readonly error: string });

export interface TakenProfile {
  /** A file `.cpuprofile`, for DevTools and others. */
  readonly profile: string;
  /** The nodes that are handlers, by their procedures. */
  readonly procedures: Readonly<Record<string, readonly number[]>>;
}

/** What is used of a `.cpuprofile`. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
    readonly hitCount?: number;
    readonly children?: readonly number[];
  }[];
}

/** A function, and the functions that it was seen to call. Counts are samples. */
export interface CallNode {
  readonly name: string;
  /** Empty: it is no function of a file. */
  readonly url: string;
  /** From 1. */
  readonly line: number;
  /** Of its own code. */
  self: number;
  /** With what it called. */
  total: number;
  /** Whose handler it is; undefined: of no procedure. */
  readonly procedure: string | undefined;
  /** By their names and places. */
  readonly children: Map<string, CallNode>;
}

/**
 * Samples in no handler that is known: of callbacks too, which V8 tells without who has asked for them, and of handlers that the
 * compiler has put into their callers.
 */
const noProcedure = '(no known procedure)';

/** Names of V8 for what is no code of the program. */
const notCode = new Set(['(idle)', '(program)', '(garbage collector)']);

/** Joins the call trees of threads, function by function. */
export function joinThreads(threads: readonly ThreadProfile[]): CallNode {
  const root = nodeOf('(root)', '', 0, undefined);
  for (const thread of threads) {
    if ('error' in thread) continue;
    const { nodes } = JSON.parse(thread.profile) as CpuProfile;
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const owners = new Map<number, string>();
    for (const [procedure, ids] of Object.entries(thread.procedures))
      for (const id of ids) owners.set(id, procedure);
    const add = (id: number, into: CallNode): number => {
      const node = byId.get(id);
      if (node === undefined) return 0;
      into.self += node.hitCount ?? 0;
      let sum = node.hitCount ?? 0;
      for (const child of node.children ?? []) {
        const frame = byId.get(child)?.callFrame;
        if (frame !== undefined) sum += add(child, childOf(into, frame, owners.get(child)));
      }
      into.total += sum;
      return sum;
    };
    // V8 writes the root first.
    if (nodes[0] !== undefined) add(nodes[0].id, root);
  }
  return root;
}

function childOf(
  parent: CallNode,
  { functionName, url, lineNumber, columnNumber }: CpuProfile['nodes'][number]['callFrame'],
  procedure: string | undefined,
): CallNode {
  const key = `${functionName} ${lineNumber}:${columnNumber} ${url}`;
  let child = parent.children.get(key);
  if (child === undefined) {
    child = nodeOf(
      functionName === '' ? '(anonymous)' : functionName,
      url,
      lineNumber + 1,
      procedure,
    );
    parent.children.set(key, child);
  }
  return child;
}

function nodeOf(name: string, url: string, line: number, procedure: string | undefined): CallNode {
  return { name, url, line, self: 0, total: 0, procedure, children: new Map() };
}

/** A row of a table. The `self` of all rows of a table add up to all samples. */
export interface ProfileRow {
  readonly name: string;
  /** `file:line`; empty: it has none. */
  readonly place: string;
  readonly self: number;
  /** With what it called; a function that calls itself counts once. */
  readonly total: number;
}

/** Samples by procedure: those of a handler and of what it has called, up to the handler of another procedure. */
export function byProcedure(root: CallNode): ProfileRow[] {
  const sums = new Map<string, number>();
  walk(root, (node, owner) => {
    const name = owner ?? (notCode.has(node.name) ? node.name : noProcedure);
    sums.set(name, (sums.get(name) ?? 0) + node.self);
  });
  return rowsOf(Array.from(sums, ([name, self]) => ({ name, place: '', self, total: self })));
}

/** Samples by function. */
export function byFunction(root: CallNode): ProfileRow[] {
  const rows = new Map<string, { name: string; place: string; self: number; total: number }>();
  const visit = (node: CallNode, above: ReadonlySet<string>): void => {
    const place = placeOf(node);
    const key = `${node.name} ${place}`;
    const row = rows.get(key) ?? { name: node.name, place, self: 0, total: 0 };
    rows.set(key, row);
    row.self += node.self;
    if (!above.has(key)) row.total += node.total;
    const within = above.has(key) ? above : new Set([...above, key]);
    for (const child of node.children.values()) visit(child, within);
  };
  for (const child of root.children.values()) visit(child, new Set());
  const own = { name: root.name, place: '', self: root.self, total: root.self };
  return rowsOf([...rows.values(), own]);
}

function rowsOf(rows: readonly ProfileRow[]): ProfileRow[] {
  return rows
    .filter(({ self, total }) => self + total > 0)
    .sort((a, b) => b.self - a.self || b.total - a.total || a.name.localeCompare(b.name));
}

/** Visits each node with the procedure that it belongs to. */
function walk(
  node: CallNode,
  visit: (node: CallNode, owner: string | undefined) => void,
  owner?: string,
): void {
  const own = node.procedure ?? owner;
  visit(node, own);
  for (const child of node.children.values()) walk(child, visit, own);
}

function placeOf({ url, line }: Pick<CallNode, 'url' | 'line'>): string {
  return url === '' ? '' : `${shortened(url)}:${line}`;
}

/** The last two parts of a path. */
function shortened(url: string): string {
  return url
    .replace(/[?#].*$/, '')
    .split('/')
    .slice(-2)
    .join('/');
}
