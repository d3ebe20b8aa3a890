/**
 * What a killed thread leaves behind, in plain Node and in the service, with and without load, and
 * with fewer arenas of malloc: KB of resident memory and of the main thread's heap for each, with 95% intervals.
 */
import { once } from 'node:events';
import { mallocSettings } from '../src/server/supervisor/fork-server.ts';
import { Compiled, compiledTree } from '../test/compiled.ts';
import { trendOf } from '../test/faults/memory-trend.ts';
import type { Reading } from '../test/fixtures/faults/killed-threads.ts';
import { fail, readArguments, readCount } from './arguments.ts';

const usage = `npm run soak:threads -- [options]

  --kills 600      threads that are killed in each run
  --only service   a subject: node, service, service under load; by default all`;

const values = readArguments(usage, {
  kills: { type: 'string', default: '600' },
  only: { type: 'string' },
});
const kills = String(readCount('kills', values.kills, 1));
const oneArena = { ...mallocSettings, MALLOC_ARENA_MAX: '1' };
const runs: readonly (readonly [
  subject: string,
  how: string,
  env: Readonly<Record<string, string>>,
])[] = [
  ['node', '', mallocSettings],
  ['node', 'one arena of malloc', oneArena],
  ['service', '', mallocSettings],
  ['service under load', '', mallocSettings],
  ['service under load', 'one arena of malloc', oneArena],
];
const { only } = values;
if (only !== undefined && !runs.some(([subject]) => subject === only)) {
  fail(`--only is node, service or service under load, not ${only}`);
}
const compiled = new Compiled(await compiledTree());

async function readingsOf(
  subject: string,
  env: Readonly<Record<string, string>>,
): Promise<Reading[]> {
  const child = compiled.start('test/fixtures/faults/killed-threads.ts', [subject, kills], env);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${subject} ended with ${code}`);
  return JSON.parse(text) as Reading[];
}

/** KB for each kill, over the second half: in the first the process finds its size. */
function slopeOf(readings: readonly Reading[], of: (reading: Reading) => number): string {
  const settled = readings.slice(readings.length >> 1);
  const { slope, error } = trendOf(settled.map((one) => [one.kills, of(one) * 1024]));
  return `${slope.toFixed(1)} +- ${error.toFixed(1)}`;
}

try {
  console.log(`${kills} kills each\n`);
  console.log('| | RSS first, half, last, MB | RSS, KB a kill | heap, KB a kill |');
  console.log('|---|--:|--:|--:|');
  for (const [subject, how, env] of runs) {
    if (only !== undefined && only !== subject) continue;
    const readings = await readingsOf(subject, env);
    const at = [0, readings.length >> 1, readings.length - 1];
    const rss = at.map((i) => Math.round(readings[i]?.rssMb ?? 0)).join(', ');
    const name = how === '' ? subject : `${subject}, ${how}`;
    const slopes = [
      slopeOf(readings, ({ rssMb }) => rssMb),
      slopeOf(readings, ({ heapMb }) => heapMb),
    ];
    console.log(`| ${name} | ${rss} | ${slopes.join(' | ')} |`);
  }
} finally {
  compiled.remove();
}
