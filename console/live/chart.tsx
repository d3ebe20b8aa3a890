import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bytesText, timeText } from '../parts/figures-text.ts';
import { keepDrawn } from '../parts/keep-drawn.ts';
import { Table } from '../parts/table.tsx';
import type { Sample } from './samples.ts';

export interface Line {
  readonly label: string;
  readonly of: (sample: Sample) => number;
  readonly text: (value: number) => string;
  /** Which of the axes: where two lines of a chart have different units. */
  readonly scale?: 'y' | 'y2' | 'log';
}

interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly samples: readonly Sample[];
}

const height = 160;

/** How much time is shown: as much as there is, within these bounds. */
const [minSeconds, maxSeconds] = [60, 300];

/** Lines over the last five minutes, and the last of them as a table, for who does not see them. */
export function Chart({ title, lines, samples }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const { current } = host;
    if (current === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(lines, current), [[], ...lines.map(() => [])], current);
    };
    const stop = keepDrawn(current, draw, () =>
      plot.current?.setSize({ width: Math.max(120, current.clientWidth), height }),
    );
    return () => {
      stop();
      plot.current?.destroy();
    };
  }, [lines]);
  useEffect(() => {
    const times = samples.map(({ at }) => at / 1000);
    const values = lines.map(({ of }) => samples.map((sample) => finite(of(sample))));
    plot.current?.setData([times, ...values]);
  });
  const last = samples.at(-1);
  return (
    <figure class="card chart">
      <figcaption class="row">
        <h2>{title}</h2>
        <ul class="row hint legend">
          {lines.map(({ label, of, text }, index) => (
            <li key={label}>
              <b class={`line-${index + 1}`} aria-hidden="true">
                —
              </b>{' '}
              {label} <strong>{last === undefined ? '–' : shown(of(last), text)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={host} class="plot" aria-hidden="true" />
      <details>
        <summary>
          As a table<span class="unseen">: {title}</span>
        </summary>
        <Table
          label={`${title}, the last ten seconds`}
          rows={samples.slice(-10).toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { head: 'time', name: ({ at }) => timeText(at) },
            ...lines.map(({ label, of, text }) => ({
              head: label,
              cell: (sample: Sample) => shown(of(sample), text),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function shown(value: number, text: (value: number) => string): string {
  return Number.isFinite(value) ? text(value) : '–';
}

function optionsOf(lines: readonly Line[], host: HTMLElement): uPlot.Options {
  // A canvas takes no light-dark(): the colours are asked of elements that have them.
  const colour = (name: string): string => {
    const probe = document.createElement('i');
    probe.className = name;
    host.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const axis = {
    stroke: colour('hint'),
    font: `11px ${getComputedStyle(host).fontFamily}`,
    grid: { stroke: getComputedStyle(host.parentElement ?? host).borderTopColor, width: 1 },
    ticks: { show: false },
  };
  const scales = [...new Set(lines.map(({ scale = 'y' }) => scale))];
  return {
    width: Math.max(120, host.clientWidth),
    height,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: {
        time: true,
        range: (_plot, from, to) => {
          const end = Number.isFinite(to) ? to : Date.now() / 1000;
          const seconds = Number.isFinite(from) ? end - from : 0;
          return [end - Math.min(Math.max(seconds, minSeconds), maxSeconds), end];
        },
      },
      ...Object.fromEntries(
        scales.map((scale) => [
          scale,
          scale === 'log' ? { distr: 3, range: decades } : { range: fromZero },
        ]),
      ),
    },
    series: [
      {},
      ...lines.map(({ scale = 'y' }, index) => ({
        scale,
        stroke: colour(`line-${index + 1}`),
        width: 1.5,
        points: { show: false },
      })),
    ],
    axes: [
      {
        ...axis,
        space: 70,
        size: 28,
        gap: 8,
        values: (_plot, ticks) => ticks.map((at) => timeText(at * 1000)),
      },
      ...scales.map((scale, index) => ({
        ...axis,
        scale,
        side: index === 0 ? 3 : 1,
        size: 60,
        ...marks(scale, lines),
        grid: index === 0 ? axis.grid : { show: false },
        values: (_plot: uPlot, ticks: number[]) => ticks.map((tick) => textOn(scale, lines, tick)),
      })),
    ],
  } as uPlot.Options;
}

/** Where an axis has its marks, where that is not the library's choice. */
function marks(scale: string, lines: readonly Line[]): object {
  if (scale === 'log') return { splits: powers, filter: (_plot: uPlot, ticks: number[]) => ticks };
  const isBytes = lines.some((line) => (line.scale ?? 'y') === scale && line.text === bytesText);
  return isBytes ? { incrs: Array.from({ length: 24 }, (_, power) => 2 ** (power + 16)) } : {};
}

function powers(_plot: uPlot, _axis: number, from: number, to: number): number[] {
  const low = Math.round(Math.log10(from));
  const count = Math.round(Math.log10(to)) - low + 1;
  return Array.from({ length: count }, (_, power) => 10 ** (low + power));
}

/** The axis of what is counted. */
function fromZero(_plot: uPlot, _from: number | null, to: number | null): [number, number] {
  return [0, to !== null && to > 0 ? to * 1.15 : 1];
}

/** The axis of times, which differ by factors: whole decades, in milliseconds. */
function decades(_plot: uPlot, from: number | null, to: number | null): [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.max(from ?? 0.1, 0.001)));
  return [low, Math.max(10 ** Math.ceil(Math.log10(Math.max(to ?? 10, 0.001))), low * 100)];
}

/** A value as the first line of its axis is written. */
function textOn(scale: string, lines: readonly Line[], value: number | null): string {
  // Of a decade only some are written.
  if (value === null) return '';
  if (value === 0) return '0';
  const text = lines.find((line) => (line.scale ?? 'y') === scale)?.text;
  return text?.(value) ?? '';
}
