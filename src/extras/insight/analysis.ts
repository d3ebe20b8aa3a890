/** What profiles say, for the command and for the page in the browser: no module of Node is used here. */

export interface Profile {
  /** How long it took. */
  readonly ms: number;
  readonly intervalMs: number;
  readonly threads: readonly ThreadProfile[];
}

/** The profile of a thread, the text of a file `.cpuprofile` for DevTools and others, or why there is none. */
export type ThreadProfile = {
  readonly name: string;
  /** 0: the main thread. */
  readonly threadId: number;
} & ({ readonly profile: string } | { readonly error: string });

/** What is used of a `.cpuprofile`. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly hitCount?: number;
    readonly children?: readonly number[];
  }[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** Both from 0. */
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** A function, and the functions that it was seen to call. Counts are samples. */
export interface CallNode {
  readonly name: string;
  /** Empty: it is no function of a file. */
  readonly url: string;
  /** Where it begins in the code that runs, both from 1. */
  readonly line: number;
  readonly column: number;
  /** Of its own code. */
  self: number;
  /** With what it called. */
  total: number;
  /** By their names and places. */
  readonly children: Map<string, CallNode>;
}

/** Joins the call trees of threads, function by function. */
export function joinThreads(threads: readonly ThreadProfile[]): CallNode {
  const root = nodeOf({ functionName: '(root)', url: '', lineNumber: 0, columnNumber: 0 });
  for (const thread of threads) {
    if ('error' in thread) continue;
    const { nodes } = JSON.parse(thread.profile) as CpuProfile;
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const add = (id: number, into: CallNode): number => {
      const node = byId.get(id);
      if (node === undefined) return 0;
      into.self += node.hitCount ?? 0;
      let sum = node.hitCount ?? 0;
      for (const child of node.children ?? []) {
        const frame = byId.get(child)?.callFrame;
        if (frame !== undefined) sum += add(child, childOf(into, frame));
      }
      into.total += sum;
      return sum;
    };
    // V8 writes the root first.
    if (nodes[0] !== undefined) add(nodes[0].id, root);
  }
  return root;
}

function childOf(parent: CallNode, frame: CallFrame): CallNode {
  const node = nodeOf(frame);
  const key = `${node.name} ${node.line}:${node.column} ${node.url}`;
  const known = parent.children.get(key);
  if (known === undefined) parent.children.set(key, node);
  return known ?? node;
}

function nodeOf({ functionName, url, lineNumber, columnNumber }: CallFrame): CallNode {
  return {
    name: functionName === '' ? '(anonymous)' : functionName,
    // After a reload the main thread has loaded a file with a query that the workers' URLs do not have.
    url: url.replace(/[?#].*$/, ''),
    line: lineNumber + 1,
    column: columnNumber + 1,
    self: 0,
    total: 0,
    children: new Map(),
  };
}

/** A function in the table. The `self` of all rows add up to all samples. */
export interface ProfileRow {
  readonly name: string;
  /** `file:line:column`; empty: it has none. */
  readonly place: string;
  readonly self: number;
  /** With what it called; a function that calls itself counts once. */
  readonly total: number;
}

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
  return [...rows.values(), own]
    .filter(({ self, total }) => self + total > 0)
    .sort((a, b) => b.self - a.self || b.total - a.total || a.name.localeCompare(b.name));
}

/** With the last two parts of the path. */
function placeOf({ url, line, column }: CallNode): string {
  return url === '' ? '' : `${url.split('/').slice(-2).join('/')}:${line}:${column}`;
}
