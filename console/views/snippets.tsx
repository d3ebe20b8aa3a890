import { useState } from 'preact/hooks';
import { callsUrl } from '../facts.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { requestText } from '../state/send.ts';
import { codeText, curlText } from '../state/snippets.ts';
import { documentUrl, type ProcedureUrl, urls, urlWith } from '../state/urls.ts';

interface SnippetsProps {
  readonly method: string;
  /** JSON text; empty: none. */
  readonly params: string;
  readonly isStream: boolean;
}

const kinds = [
  ['curl', 'curl'],
  ['url', 'Plain HTTP'],
  ['code', 'TypeScript'],
] as const;

/** The same call elsewhere: on a command line, in code. */
export function Snippets({ method, params, isStream }: SnippetsProps) {
  const [chosen, setKind] = useState<(typeof kinds)[number][0]>('curl');
  const plain = urls.value.get(method);
  // A reload may have taken the URL away.
  const kind = chosen === 'url' && plain === undefined ? 'curl' : chosen;
  const text =
    kind === 'code'
      ? codeText(method, params, isStream)
      : kind === 'url' && plain !== undefined
        ? plainText(plain, params, isStream)
        : curlText(callsUrl ?? '', requestText(method, params, 1), isStream);
  const what = kind === 'code' ? 'the code' : 'the command';
  return (
    <section class="snippets" aria-label="The same call elsewhere">
      <div class="row head">
        <h2>Elsewhere</h2>
        <div class="switch end" role="group" aria-label="Kind of snippet">
          {kinds
            .filter(([one]) => one !== 'url' || plain !== undefined)
            .map(([one, words]) => (
              <button
                key={one}
                type="button"
                class="quiet"
                aria-pressed={kind === one}
                onClick={() => setKind(one)}
              >
                {words}
              </button>
            ))}
        </div>
      </div>
      {plain !== undefined && <PlainUrl plain={plain} params={params} />}
      <div class="with-copy">
        <pre class="json" role="group" tabIndex={0} aria-label={what}>
          <code>{text}</code>
        </pre>
        <CopyButton text={() => text} what={what} />
      </div>
    </section>
  );
}

function plainText(plain: ProcedureUrl, params: string, isStream: boolean): string {
  const body = plain.method === 'post' ? params || '{}' : undefined;
  return curlText(urlWith(plain, params), body, isStream);
}

/** The procedure's URL: a link if it can be opened. */
function PlainUrl({ plain, params }: { readonly plain: ProcedureUrl; readonly params: string }) {
  const url = urlWith(plain, params);
  return (
    <p class="url">
      {plain.method.toUpperCase()}{' '}
      {plain.method === 'get' ? (
        <a href={url} target="_blank" rel="noreferrer">
          {url}
        </a>
      ) : (
        <code>{url}</code>
      )}{' '}
      <a class="document" href={documentUrl} target="_blank" rel="noreferrer">
        OpenAPI document
      </a>
    </p>
  );
}
