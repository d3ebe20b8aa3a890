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
  return [
    ...marked(' ', before.slice(0, start)),
    ...(shortest(a, b) ?? [...marked('-', a), ...marked('+', b)]),
    ...marked(' ', before.slice(before.length - end)),
  ];
}

function marked(mark: Line['mark'], texts: readonly string[]): Line[] {
  return texts.map((text) => ({ mark, text }));
}

/** Takes the line `x` of the first text away (-), or adds the line `y` of the second one before it (+). */
interface Edit {
  readonly mark: '-' | '+';
  readonly x: number;
  readonly y: number;
  readonly before: Edit | undefined;
}

/** Myers' shortest edit script of two texts that begin with different lines; undefined if it has more than `maxEdits` edits. */
function shortest(a: readonly string[], b: readonly string[]): Line[] | undefined {
  // By the diagonal k = x - y: how far scripts have come in the first text, and their last edit.
  const furthest = new Map<number, { readonly x: number; readonly edit: Edit | undefined }>();
  const none = { x: -1, edit: undefined };
  furthest.set(0, { x: 0, edit: undefined });
  for (let count = 1; count <= Math.min(maxEdits, a.length + b.length); count += 1) {
    for (let k = -count; k <= count; k += 2) {
      const [left, right] = [furthest.get(k - 1) ?? none, furthest.get(k + 1) ?? none];
      const adds = k === -count || (k !== count && left.x < right.x);
      const { x: fromX, edit: before } = adds ? right : left;
      let x = adds ? fromX : fromX + 1;
      const edit: Edit = { mark: adds ? '+' : '-', x: fromX, y: adds ? x - k - 1 : x - k, before };
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest.set(k, { x, edit });
      if (x >= a.length && x - k >= b.length) return linesOf(edit, a, b);
    }
  }
  return undefined;
}

/** All lines of both texts: the edited ones, and those that stay. */
function linesOf(last: Edit, a: readonly string[], b: readonly string[]): Line[] {
  const lines: Line[] = [];
  let end = a.length;
  for (let edit: Edit | undefined = last; edit !== undefined; edit = edit.before) {
    const { mark, x, y } = edit;
    const first = mark === '-' ? x + 1 : x;
    while (end > first) lines.push({ mark: ' ', text: a[--end] ?? '' });
    lines.push({ mark, text: (mark === '-' ? a[x] : b[y]) ?? '' });
    end = x;
  }
  return [...marked(' ', a.slice(0, end)), ...lines.reverse()];
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
