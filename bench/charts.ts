import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import {
  drawGrowth,
  drawHop,
  drawHttp,
  drawIsolation,
  drawMixture,
  drawRouting,
  drawScaling,
  drawStalls,
  drawWindows,
} from './chart-specs.ts';
import type { Results, SuiteResult } from './results.ts';

/** Draws the chart of a suite; undefined: its figures were not measured. */
type Draw = (suite: SuiteResult) => TopLevelSpec | undefined;

interface Chart {
  readonly suite: string;
  readonly name: string;
  readonly draw: Draw;
}

const charts: readonly Chart[] = [
  { suite: 'http', name: 'http', draw: drawHttp },
  { suite: 'hop', name: 'hop', draw: drawHop },
  { suite: 'isolation', name: 'isolation', draw: drawIsolation },
  { suite: 'mixture', name: 'mixture', draw: drawMixture },
  { suite: 'streams', name: 'streams-stalled', draw: drawStalls },
  { suite: 'streams', name: 'streams-window', draw: drawWindows },
  { suite: 'cluster', name: 'cluster', draw: drawRouting },
  { suite: 'scaling', name: 'scaling', draw: drawScaling },
  {
    suite: 'growth',
    name: 'growth-time',
    draw: (suite) => drawGrowth(suite, 'time', 'microseconds'),
  },
  { suite: 'growth', name: 'growth-memory', draw: (suite) => drawGrowth(suite, 'memory', 'bytes') },
];

/** The charts of a suite. What was not measured has none. */
export function chartNames(suite: SuiteResult): string[] {
  return charts
    .filter((one) => one.suite === suite.name && one.draw(suite) !== undefined)
    .map(({ name }) => name);
}

/** Writes the charts of all measured suites into a folder. */
export async function writeCharts(results: Results, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const { suite: name, name: file, draw } of charts) {
    const suite = results.suites.find((one) => one.name === name);
    const spec = suite && draw(suite);
    if (spec !== undefined) writeFileSync(join(folder, `${file}.svg`), await toSvg(spec));
  }
}

export async function toSvg(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(spec).spec), { renderer: 'none' });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
