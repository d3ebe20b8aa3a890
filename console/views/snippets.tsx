import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { requestText } from '../state/send.ts';
import { codeText, curlText } from '../state/snippets.ts';

interface SnippetsProps {
  readonly method: string;
  /** JSON text; empty: none. */
  readonly params: () => string;
  readonly isStream: boolean;
}

/** The same call elsewhere: on a command line, in code. */
export function Snippets({ method, params, isStream }: SnippetsProps) {
  const [kind, setKind] = useState<'curl' | 'code'>('curl');
  const text =
    kind === 'curl'
      ? curlText(requestText(method, params(), 1), isStream)
      : codeText(method, params(), isStream);
  const what = kind === 'curl' ? 'the command' : 'the code';
  return (
    <section class="snippets" aria-label="The same call elsewhere">
      <div class="params-head">
        <h2>Elsewhere</h2>
        <div class="switch" role="group" aria-label="Kind of snippet">
          <button type="button" aria-pressed={kind === 'curl'} onClick={() => setKind('curl')}>
            curl
          </button>
          <button type="button" aria-pressed={kind === 'code'} onClick={() => setKind('code')}>
            TypeScript
          </button>
        </div>
      </div>
      <div class="with-copy">
        <pre class="json" role="group" tabIndex={0} aria-label={what}>
          <code>{text}</code>
        </pre>
        <CopyButton text={() => text} what={what} />
      </div>
    </section>
  );
}
