import { useMemo, useState } from 'preact/hooks';

/** Longer texts are shown in part until somebody asks for the rest: a page of megabytes would hold the browser. */
const shownCharacters = 60_000;

/** A string (a name, where a colon follows), a number, a word, or what stands between them. */
const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

/** JSON with its parts told apart by colour. */
export function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  const [isWhole, setWhole] = useState(false);
  const pretty = useMemo(() => prettyJson(text), [text]);
  const shown = isWhole ? pretty : pretty.slice(0, shownCharacters);
  const parts = useMemo(() => toParts(shown), [shown]);
  return (
    <>
      <pre class="json" role="group" aria-label={label} tabIndex={0}>
        <code>{parts}</code>
      </pre>
      {pretty.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {pretty.length.toLocaleString('en')} characters
        </button>
      )}
    </>
  );
}

/** Laid out over lines. Numbers stay as they were written, which JSON.parse would round: only blanks are changed. */
function prettyJson(text: string): string {
  let out = '';
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  const parts = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  for (const [at, part] of parts.entries()) {
    const next = parts[at + 1];
    if (part === '{' || part === '[') {
      const isEmpty = next === '}' || next === ']';
      if (!isEmpty) depth++;
      out += isEmpty ? part : part + line();
    } else if (part === '}' || part === ']') {
      const before = parts[at - 1];
      const isEmpty = before === '{' || before === '[';
      if (!isEmpty) depth--;
      out += isEmpty ? part : line() + part;
    } else if (part === ',') out += part + line();
    else if (part === ':') out += ': ';
    else out += part;
  }
  return out;
}

function toParts(text: string) {
  const parts: (string | preact.JSX.Element)[] = [];
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    const [whole, string, colon, number, word] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    const kind = colon !== undefined ? 'name' : string ? 'string' : number ? 'number' : 'word';
    parts.push(<span class={`j-${kind}`}>{string ?? number ?? word}</span>);
    if (colon !== undefined) parts.push(colon);
  }
  parts.push(text.slice(end));
  return parts;
}
