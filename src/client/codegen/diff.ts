const context = 3;
/** Most edits to search for: texts that differ in more lines have little in common. */
const maxEdits = 1500;
/** Most lines of the diff. */
const maxLines = 400;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/**
 * The difference from `before` to `after` as a unified diff; '' if there is none. Each hunk names the declaration
 * that its first change belongs to.
 */
export function diffLines(before: string, after: string): string {
  if (before === after) return '';
  const lines = edits(before.split('\n'), after.split('\n'));
  const output = hunksOf(lines).flatMap((hunk) => hunkText(lines, hunk));
  const more = output.length - maxLines;
  return more > 0
    ? [...output.slice(0, maxLines), `... and ${more} more lines`].join('\n')
    : output.join('\n');
}

function edits(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start])
    start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  const same = (texts: readonly string[]): Line[] => texts.map((text) => ({ mark: ' ', text }));
  return [
    ...same(before.slice(0, start)),
    ...(shortest(a, b) ?? replaced(a, b)),
    ...same(before.slice(before.length - end)),
  ];
}

function replaced(a: readonly string[], b: readonly string[]): Line[] {
  return [
    ...a.map((text): Line => ({ mark: '-', text })),
    ...b.map((text): Line => ({ mark: '+', text })),
  ];
}

/** Myers' shortest edit script; undefined if it has more than `maxEdits` edits. */
function shortest(a: readonly string[], b: readonly string[]): Line[] | undefined {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: ReadonlyMap<number, number>[] = [];
  for (let count = 0; count <= Math.min(maxEdits, a.length + b.length); count += 1) {
    trace.push(new Map(furthest));
    for (let k = -count; k <= count; k += 2) {
      let x = goesDown(furthest, k, count) ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace);
    }
  }
  return undefined;
}

function walkBack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly ReadonlyMap<number, number>[],
): Line[] {
  const lines: Line[] = [];
  let x = a.length;
  let y = b.length;
  for (let count = trace.length - 1; count >= 0; count -= 1) {
    const furthest = trace[count] as ReadonlyMap<number, number>;
    const down = goesDown(furthest, x - y, count);
    const k = down ? x - y + 1 : x - y - 1;
    const fromX = count === 0 ? 0 : at(furthest, k);
    const fromY = count === 0 ? 0 : fromX - k;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      lines.push({ mark: ' ', text: a[x] ?? '' });
    }
    if (count === 0) break;
    lines.push(down ? { mark: '+', text: b[fromY] ?? '' } : { mark: '-', text: a[fromX] ?? '' });
    x = fromX;
    y = fromY;
  }
  return lines.reverse();
}

function goesDown(furthest: ReadonlyMap<number, number>, k: number, count: number): boolean {
  return k === -count || (k !== count && at(furthest, k - 1) < at(furthest, k + 1));
}

function at(furthest: ReadonlyMap<number, number>, k: number): number {
  return furthest.get(k) ?? -1;
}

interface Hunk {
  readonly start: number;
  end: number;
}

function hunksOf(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const [index, { mark }] of lines.entries()) {
    if (mark === ' ') continue;
    const last = hunks.at(-1);
    if (last !== undefined && index - context <= last.end) last.end = index + context + 1;
    else hunks.push({ start: Math.max(0, index - context), end: index + context + 1 });
  }
  return hunks;
}

function hunkText(lines: readonly Line[], { start, end }: Hunk): string[] {
  const first = lines.slice(start, end).findIndex(({ mark }) => mark !== ' ') + start;
  const rows = lines.slice(start, end).map(({ mark, text }) => `${mark}${text}`.trimEnd());
  return [`@@ ${declarationAt(lines, first)} @@`, ...rows];
}

/** The procedure or the type that a line belongs to. */
function declarationAt(lines: readonly Line[], index: number): string {
  for (let at = index; at >= 0; at -= 1) {
    const text = lines[at]?.text ?? '';
    const member = /^ {2}('.*'|[\w$]+): \{$/.exec(text);
    if (member !== null) return member[1] ?? '';
    const declared = /^export (?:interface|type) ([\w$]+)/.exec(text);
    if (declared !== null) return declared[1] ?? '';
  }
  return 'the head of the file';
}
