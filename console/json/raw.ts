/**
 * JSON as it was written. JSON.parse would round numbers above 2^53 and cut their zeros, so what is shown and sent is taken
 * out of the text itself. The texts are known to be JSON.
 */

const quote = '"';

/** The end of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const end = text.indexOf(quote, at);
    if (end === -1) return text.length;
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

const word = /[^\s{}[\],:"]+/y;

/** The strings, numbers, words and signs of a text, in their order. */
export function* partsOf(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; ) {
    const sign = text[at] as string;
    let end = at + 1;
    if (sign === quote) end = endOfString(text, at);
    else if (!'{}[],:'.includes(sign)) {
      word.lastIndex = at;
      // A blank is no part of anything.
      if (!word.test(text)) {
        at = end;
        continue;
      }
      end = word.lastIndex;
    }
    yield text.slice(at, end);
    at = end;
  }
}

/** The texts between the commas of the outermost list or object. */
function splitOuter(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === quote) at = endOfString(text, at) - 1;
    else if (sign === '{' || sign === '[') {
      if (++depth === 1) start = at + 1;
    } else if (sign === '}' || sign === ']') {
      if (--depth === 0) found.push(text.slice(start, at).trim());
    } else if (sign === ',' && depth === 1) {
      found.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return found.length === 1 && found[0] === '' ? [] : found;
}

/** The items of a list; undefined: the text is none. */
export function itemsOf(text: string): readonly string[] | undefined {
  return text.trimStart().startsWith('[') ? splitOuter(text) : undefined;
}

/** The members of an object, each a name and the text of its value; undefined: the text is none. */
export function membersOf(text: string): ReadonlyMap<string, string> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  const members = splitOuter(text).map((member): [string, string] => {
    const end = endOfString(member, 0);
    const name = JSON.parse(member.slice(0, end)) as string;
    return [name, member.slice(member.indexOf(':', end) + 1).trim()];
  });
  return new Map(members);
}

/** The same without blanks between its parts. */
export function compactJson(text: string): string {
  return [...partsOf(text)].join('');
}

/** The same laid out over lines. */
export function prettyJson(text: string): string {
  let out = '';
  let depth = 0;
  let before = '';
  const line = (): string => `\n${'  '.repeat(depth)}`;
  for (const part of partsOf(text)) {
    const isEnd = part === '}' || part === ']';
    if (before === '{' || before === '[') {
      if (!isEnd) {
        depth++;
        out += line();
      }
    } else if (isEnd) {
      depth--;
      out += line();
    } else if (before === ',') out += line();
    out += part === ':' ? ': ' : part;
    before = part;
  }
  return out;
}
