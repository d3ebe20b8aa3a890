import { useMemo, useState } from 'preact/hooks';
import { partsOf, prettyJson } from '../json/raw.ts';

/** Longer texts are shown in part until somebody asks for the rest: a page of megabytes would hold the browser. */
const shownCharacters = 60_000;

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

/** With its blanks, which stand between the parts. */
function toParts(text: string) {
  const parts: (string | preact.JSX.Element)[] = [];
  let end = 0;
  let last = '';
  for (const part of partsOf(text)) {
    const at = text.indexOf(part, end);
    if (part === ':') {
      // What stood in front of it was a name.
      parts[parts.length - 1] = <span class="j-name">{last}</span>;
    }
    if (at > end) parts.push(text.slice(end, at));
    const kind = kindOf(part);
    parts.push(kind === undefined ? part : <span class={`j-${kind}`}>{part}</span>);
    end = at + part.length;
    last = part;
  }
  return parts;
}

function kindOf(part: string): 'string' | 'number' | 'word' | undefined {
  if (part.startsWith('"')) return 'string';
  if (/^[-\d]/.test(part)) return 'number';
  return /^[a-z]/.test(part) ? 'word' : undefined;
}
