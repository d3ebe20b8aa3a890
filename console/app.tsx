import type { ComponentChildren } from 'preact';
import { callsUrl, facts } from './facts.ts';
import { lazyPart } from './parts/lazy-part.tsx';
import { batch } from './state/batch.ts';
import { exchanges } from './state/exchanges.ts';
import { headers, headersOpen } from './state/headers.ts';
import { registry } from './state/registry.ts';
import { type Route, route } from './state/route.ts';
import { nextScheme, scheme } from './state/scheme.ts';
import { BatchView } from './views/batch-view.tsx';
import { Find } from './views/find.tsx';
import { HeadersForm } from './views/headers-form.tsx';
import { HistoryView } from './views/history-view.tsx';
import { ProcedureView } from './views/procedure-view.tsx';
import { RawView } from './views/raw-view.tsx';
import { Refused } from './views/refused.tsx';

/** The charts are a third of the page, and many never look at them. */
const LiveView = lazyPart(async () => (await import('./live/live-view.tsx')).LiveView);

export function App() {
  const { view } = route.value;
  const tab = (to: string, isCurrent: boolean, ...children: ComponentChildren[]) => (
    <a href={to} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  );
  return (
    <>
      <button type="button" class="skip unseen" onClick={skip}>
        Skip to the content
      </button>
      <header class="bar">
        <a class="brand" href={callsUrl === undefined ? '#/live' : '#/'}>
          <Mark />
          Tandem <span class="hint">{facts.version}</span>
        </a>
        <nav aria-label="Views">
          {callsUrl !== undefined && (
            <>
              {tab('#/', view === 'procedures' || view === 'procedure', 'Procedures')}
              {tab('#/batch', view === 'batch', 'Batch ', <Count of={batch.value} />)}
              {tab('#/history', view === 'history', 'History ', <Count of={exchanges.value} />)}
            </>
          )}
          {facts.live && tab('#/live', view === 'live', 'Live')}
        </nav>
        <div class="tools end">
          <button
            type="button"
            class="quiet"
            aria-expanded={headersOpen.value}
            aria-controls="headers-panel"
            onClick={() => {
              headersOpen.value = !headersOpen.value;
            }}
          >
            Headers
            <Count of={headers.value} />
          </button>
          <button type="button" class="quiet" onClick={nextScheme}>
            <span aria-hidden="true">◐</span>
            <span class="unseen">Colours: </span>
            {scheme.value}
          </button>
        </div>
      </header>
      {headersOpen.value && (
        <section class="panel" id="headers-panel" aria-label="Headers of requests">
          <HeadersForm action="Use them" />
        </section>
      )}
      <Content current={route.value} />
    </>
  );
}

function Count({ of }: { readonly of: readonly unknown[] }) {
  return of.length > 0 && <span class="badge">{of.length}</span>;
}

function Content({ current }: { readonly current: Route }) {
  const { value } = registry;
  const { view } = current;
  const main = (shown: ComponentChildren, look?: string) => (
    <main id="main" tabIndex={-1} class={look}>
      {shown}
    </main>
  );
  if (view === 'live') return main(<LiveView />, 'wide');
  if (value.state === 'failed') return main(<Refused what="The procedures" failed={value} />);
  if (view === 'batch') return main(<BatchView />);
  if (view === 'history') return main(<HistoryView />);
  if (value.state === 'none') return main(<RawView />);
  const name = view === 'procedure' ? current.name : undefined;
  return (
    <div class="split" data-open={name === undefined ? 'list' : 'procedure'}>
      <Find current={name} />
      {main(name === undefined ? <Welcome /> : <ProcedureView key={name} name={name} />)}
    </div>
  );
}

function Welcome() {
  const { value } = registry;
  const isEmpty = value.state === 'ready' && Object.keys(value.procedures).length === 0;
  return (
    <div class="welcome">
      <h1>{value.state === 'loading' ? 'Loading…' : 'Try a procedure'}</h1>
      <p class="hint">
        {isEmpty
          ? 'This service has no procedures.'
          : 'Choose one on the left. The editor begins with an example of its params.'}
      </p>
      <dl class="keys hint">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>find a procedure</dd>
        <dt>
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </dt>
        <dd>call it</dd>
      </dl>
    </div>
  );
}

/** A button: the page's route is the fragment of its URL, which a link within the page would change. */
function skip(): void {
  document.getElementById('main')?.focus();
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 16" aria-hidden="true">
      <circle cx="6" cy="9" r="5" />
      <circle cx="18" cy="9" r="5" />
      <path d="M6 9 L11 3 H16 L18 9" />
    </svg>
  );
}
