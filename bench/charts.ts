import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import { drawHop, drawHttp, drawIsolation, drawMixture, drawRouting } from './chart-specs.ts';
import type { Results, SuiteResult } from './results.ts';

/** Draws the chart of a suite; undefined: its figures were not measured. */
type Draw = (suite: SuiteResult) => TopLevelSpec | undefined;

/** The charts of the pages, by their suites. */
const charts: Readonly<Record<string, Draw>> = {
  http: drawHttp,
  hop: drawHop,
  isolation: drawIsolation,
  mixture: drawMixture,
  cluster: drawRouting,
};

/** Writes the charts of the measured suites into a folder. */
export async function writeCharts(results: Results, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const suite of results.suites) {
    const spec = charts[suite.name]?.(suite);
    if (spec !== undefined) writeFileSync(join(folder, `${suite.name}.svg`), await toSvg(spec));
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
