/** Additions to a JSON file that people edit: every character that was there stays. */

/** A member of an object, by the places of its text. */
interface Member {
  readonly key: string;
  /** Of the key's first quote. */
  readonly start: number;
  /** Of the value's first character. */
  readonly value: number;
  /** Behind the value's last character. */
  readonly end: number;
}

interface ObjectText {
  readonly open: number;
  readonly members: readonly Member[];
  /** Of the closing brace. */
  readonly close: number;
}

/**
 * Adds members with texts to the object that is the member `name` of the whole, which is made if it is missing. In an object
 * whose members are sorted by name, each goes to its place; else to the end.
 *
 * @param text a valid JSON object; its members `name` is an object, if there is one
 */
export function addMembers(
  text: string,
  name: string,
  members: readonly (readonly [key: string, value: string])[],
): string {
  const whole = readObject(text, text.indexOf('{'));
  // As JSON.parse does: of two members with one name, the last counts.
  const member = whole.members.findLast(({ key }) => key === name);
  if (member === undefined) {
    const value = Object.fromEntries(members);
    return insert(text, whole, name, value, whole.members.length);
  }
  return members.reduce((changed, [key, value]) => {
    const object = readObject(changed, member.value);
    const keys = object.members.map((one) => one.key);
    const isSorted = keys.every((one, index) => index === 0 || (keys[index - 1] ?? '') <= one);
    const before = isSorted && keys.length > 1 ? keys.findIndex((one) => one > key) : -1;
    return insert(changed, object, key, value, before < 0 ? keys.length : before);
  }, text);
}

/** Strings are one token each; of all else a character is enough. */
const tokens = /"(?:[^"\\]|\\.)*"|[^\s"]/g;

/** Reads the object whose brace is at `open`. */
function readObject(text: string, open: number): ObjectText {
  const members: Member[] = [];
  const token = new RegExp(tokens);
  token.lastIndex = open + 1;
  let depth = 1;
  let key: { readonly text: string; readonly start: number } | undefined;
  let value: number | undefined;
  let end = open + 1;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const { 0: sign, index } = match;
    const closes = sign === '}' || sign === ']';
    if (closes) depth -= 1;
    if (depth === 0 || (depth === 1 && sign === ',')) {
      if (key !== undefined && value !== undefined) {
        members.push({ key: JSON.parse(key.text) as string, start: key.start, value, end });
      }
      if (depth === 0) return { open, members, close: index };
      key = undefined;
      value = undefined;
      continue;
    }
    if (key === undefined) key = { text: sign, start: index };
    else if (value === undefined && sign !== ':') value = index;
    end = index + sign.length;
    if (sign === '{' || sign === '[') depth += 1;
  }
  throw new Error('the text ends within an object');
}

/** Inserts one member before the one at `position`, or behind the last, spaced as its neighbours are. */
function insert(
  text: string,
  { open, members, close }: ObjectText,
  key: string,
  value: string | object,
  position: number,
): string {
  const line = text.includes('\r\n') ? '\r\n' : '\n';
  const outer = /(?:^|\n)([ \t]*)[^\n]*$/.exec(text.slice(0, open))?.[1] ?? '';
  const unit =
    /^[^"]*\n([ \t]+)"/.exec(text.slice(text.indexOf('{')))?.[1] ??
    // As npm writes it, where there is nothing to go by.
    (text.includes('"') ? undefined : '  ');
  const before = members[0] && text.slice(open + 1, members[0].start);
  // What stands before each member: a line and its indentation, or a blank or nothing in a file of one line.
  const gap =
    before?.replace(/^[\s\S]*\n/, line) ?? (unit === undefined ? '' : `${line}${outer}${unit}`);
  const indent = gap.slice(gap.lastIndexOf('\n') + 1);
  const shown = JSON.stringify(value, undefined, gap.includes('\n') ? unit : undefined).replaceAll(
    '\n',
    `${line}${indent}`,
  );
  const member = `${JSON.stringify(key)}${/":\S/.test(text) && !/": /.test(text) ? ':' : ': '}${shown}`;
  const next = members[position];
  if (next !== undefined) {
    return `${text.slice(0, next.start)}${member},${gap || ' '}${text.slice(next.start)}`;
  }
  const last = members.at(-1);
  if (last === undefined) {
    const tail = gap.includes('\n') ? `${line}${outer}` : '';
    return `${text.slice(0, open + 1)}${gap}${member}${tail}${text.slice(close)}`;
  }
  return `${text.slice(0, last.end)},${gap}${member}${text.slice(last.end)}`;
}
