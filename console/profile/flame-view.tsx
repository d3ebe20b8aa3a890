import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  byFunction,
  joinThreads,
  type Profile,
  type ProfileRow,
  type ThreadProfile,
} from '../../src/extras/insight/analysis.ts';
import { keepDrawn } from '../parts/keep-drawn.ts';
import { Table } from '../parts/table.tsx';
import {
  type Box,
  draw,
  type Frame,
  framesOf,
  layOut,
  neighbour,
  rowHeight,
  workOf,
} from './flame.ts';

/** Rows of the table that are shown. */
const maxRows = 30;

/** A profile as a flame graph and as a table. */
export function FlameView({ profile }: { readonly profile: Profile }) {
  const [chosen, choose] = useState('all');
  const [search, setSearch] = useState('');
  const threads = profile.threads.filter(
    ({ threadId }) => chosen === 'all' || chosen === String(threadId),
  );
  const tree = useMemo(() => joinThreads(threads), [profile, chosen]);
  const failed = profile.threads.flatMap((thread) =>
    'error' in thread ? [`${thread.name}: ${thread.error}`] : [],
  );
  return (
    <>
      <div class="row head">
        <label>
          Thread{' '}
          <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            <option value="all">all, joined</option>
            {profile.threads.map(({ name, threadId }) => (
              <option key={threadId} value={String(threadId)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Search{' '}
          <input
            type="search"
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        {threads.length === 1 &&
          threads.map((thread) => <Download key={thread.name} thread={thread} />)}
      </div>
      {failed.map((text) => (
        <p key={text} class="fault">
          {text}
        </p>
      ))}
      <Graph key={chosen} threads={threads} search={search.trim().toLowerCase()} />
      <FunctionTable rows={byFunction(tree)} />
    </>
  );
}

function Download({ thread }: { readonly thread: ThreadProfile }) {
  if ('error' in thread) return null;
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([thread.profile], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${thread.name}.cpuprofile`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <button type="button" onClick={save}>
      Download .cpuprofile
    </button>
  );
}

interface GraphProps {
  readonly threads: readonly ThreadProfile[];
  readonly search: string;
}

function Graph({ threads, search }: GraphProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const boxes = useRef<readonly Box[]>([]);
  const frames = useMemo(() => framesOf(workOf(threads)), [threads[0], threads.length]);
  const root = frames[0] as Frame;
  const [zoom, setZoom] = useState(root);
  const [selected, select] = useState(root);
  const isFound =
    search === ''
      ? undefined
      : ({ node }: Frame): boolean => `${node.name} ${node.url}`.toLowerCase().includes(search);
  useEffect(() => {
    const { current } = canvas;
    if (current === null) return undefined;
    const redraw = (): void => {
      boxes.current = layOut(frames, zoom, current.clientWidth);
      draw(current, boxes.current, selected, isFound);
    };
    return keepDrawn(current.parentElement ?? current, redraw);
  }, [frames, zoom, selected, search]);
  const at = ({ offsetX, offsetY }: MouseEvent): Frame | undefined =>
    boxes.current.find(
      ({ x, y, width }) =>
        offsetX >= x && offsetX < x + width && offsetY >= y && offsetY < y + rowHeight,
    )?.frame;
  const onKey = (event: KeyboardEvent): void => {
    const { key } = event;
    let next: Frame | undefined;
    if (key === 'Enter') setZoom(selected);
    else if (key === 'Escape') setZoom(root);
    else if (key.startsWith('Arrow')) next = neighbour(boxes.current, selected, key);
    else return;
    event.preventDefault();
    if (next === undefined) return;
    select(next);
    canvas.current?.parentElement?.scrollTo({ top: (next.depth - 5) * rowHeight });
  };
  if (root.node.total === 0) return <p class="hint">Nothing was computed meanwhile.</p>;
  return (
    <>
      <div
        class="box flame"
        tabIndex={0}
        role="application"
        aria-label="Flame graph. Arrow keys go from function to function, Enter looks into one, Escape leads back"
        aria-describedby="flame-frame"
        onKeyDown={onKey}
        onMouseMove={(event) => {
          const over = at(event);
          event.currentTarget.title = over === undefined ? '' : textOf(over, root);
        }}
        onClick={(event) => {
          const hit = at(event);
          if (hit === undefined) return;
          select(hit);
          setZoom(hit);
        }}
      >
        <canvas ref={canvas} />
      </div>
      <p id="flame-frame" class="hint frame-text" aria-live="polite">
        {textOf(selected, root)}
      </p>
    </>
  );
}

function textOf({ node }: Frame, root: Frame): string {
  const share = (samples: number): string => `${((samples / root.node.total) * 100).toFixed(1)}%`;
  return [
    node.name,
    ...(node.url === '' ? [] : [`${node.url}:${node.line}:${node.column}`]),
    `${share(node.total)} with what it calls, ${share(node.self)} itself`,
  ].join(' — ');
}

function FunctionTable({ rows }: { readonly rows: readonly ProfileRow[] }) {
  const all = rows.reduce((sum, { self }) => sum + self, 0);
  const shown = rows.filter(({ self }) => self > 0).slice(0, maxRows);
  return (
    <>
      <h3>Functions</h3>
      <Table
        label="Functions by samples"
        rows={shown}
        keyOf={({ name, place }) => `${name} ${place}`}
        columns={[
          { head: 'name', name: ({ name }) => name },
          { head: 'place', cell: ({ place }) => place },
          { head: 'self', number: ({ self }) => self },
          {
            head: 'share',
            number: ({ self }) => self,
            text: (self) => `${((self / Math.max(all, 1)) * 100).toFixed(1)}%`,
          },
        ]}
      />
    </>
  );
}
