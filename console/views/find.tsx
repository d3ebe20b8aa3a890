import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ProcedureSchema, procedures } from '../state/registry.ts';
import { procedureHash } from '../state/route.ts';

const query = signal('');

/** Links that are shown until somebody asks for the rest: ten thousand hold the browser for a second. */
const shownAtFirst = 500;

/** The procedures of a namespace. */
interface Group {
  readonly namespace: string;
  readonly members: readonly ProcedureSchema[];
}

function find(all: readonly ProcedureSchema[], asked: string): readonly ProcedureSchema[] {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(({ name, doc }) => {
    const text = `${name} ${doc ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function toGroups(all: readonly ProcedureSchema[]): readonly Group[] {
  const groups = new Map<string, ProcedureSchema[]>();
  for (const one of all) {
    const members = groups.get(one.namespace ?? '');
    if (members === undefined) groups.set(one.namespace ?? '', [one]);
    else members.push(one);
  }
  return Array.from(groups, ([namespace, members]) => ({ namespace, members }));
}

/** The list of procedures, and the box that narrows it. */
export function Find({ current }: { readonly current: string | undefined }) {
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  const [isWhole, setWhole] = useState(false);
  const all = useMemo(() => find(procedures.value, query.value), [procedures.value, query.value]);
  const groups = useMemo(
    () => toGroups(isWhole ? all : all.slice(0, shownAtFirst)),
    [all, isWhole],
  );
  const found = all.length;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping(event)) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const links = (): HTMLAnchorElement[] => [
    ...(list.current?.querySelectorAll<HTMLAnchorElement>('li a') ?? []),
  ];
  const onKeyDown = (event: KeyboardEvent): void => {
    const shown = links();
    const at = shown.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === 'Enter' && at === -1) {
      shown[0]?.click();
      return;
    }
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const next = event.key === 'ArrowDown' ? at + 1 : at - 1;
    if (next < 0) box.current?.focus();
    else shown[next]?.focus();
  };
  return (
    <nav class="find" ref={list} aria-label="Procedures" onKeyDown={onKeyDown}>
      <input
        ref={box}
        type="search"
        placeholder="Find a procedure: /"
        aria-label="Find a procedure"
        aria-keyshortcuts="/"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => {
          query.value = event.currentTarget.value;
        }}
      />
      <p class="found hint" aria-live="polite">
        {found === procedures.value.length
          ? `${found.toLocaleString('en')} ${found === 1 ? 'procedure' : 'procedures'}`
          : `${found.toLocaleString('en')} of ${procedures.value.length.toLocaleString('en')}`}
      </p>
      <div class="groups">
        {groups.map(({ namespace, members }) => (
          <section
            key={namespace}
            aria-label={namespace === '' ? 'without a namespace' : namespace}
          >
            {namespace !== '' && <h2 class="hint">{namespace}</h2>}
            <ul>
              {members.map((one) => (
                <li key={one.name}>
                  <a
                    href={procedureHash(one.name)}
                    aria-current={one.name === current ? 'page' : undefined}
                  >
                    <span>
                      {namespace === '' ? one.name : one.name.slice(namespace.length + 1)}
                    </span>
                    {one.stream !== undefined && <span class="tag end">stream</span>}
                    {one.effects?.destructive === true && (
                      <span class="tag warn end">destructive</span>
                    )}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      {!isWhole && found > shownAtFirst && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {found.toLocaleString('en')}
        </button>
      )}
    </nav>
  );
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, json-editor') !== null
  );
}
