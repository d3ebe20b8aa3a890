/**
 * `npm run test:languages [-- SUITE...]`: programs in other languages, and of other people, against a server of this repository
 * with worker threads. They are installed in .build/languages; nothing of them is a dependency of this package.
 */
import { messageOf } from '../src/core/base/message-of.ts';
import { findProgram } from '../test/programs.ts';
import { fail } from './arguments.ts';
import { httpApiSuites } from './languages/http-api.ts';
import { mcp } from './languages/mcp.ts';
import type { Suite } from './languages/suite.ts';

const suites: Readonly<Record<string, Suite>> = { ...httpApiSuites, mcp };

const known = Object.keys(suites);
const names = process.argv.slice(2);
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) fail(`${unknown}: no such suite; there are ${known.join(', ')}`);
const chosen = Object.entries(suites).filter(
  ([name]) => names.length === 0 || names.includes(name),
);

// Before anything is installed.
const missing = chosen.flatMap(([name, { needs }]) =>
  Object.entries(needs)
    .filter(([program]) => findProgram(program) === undefined)
    .map(([program, install]) => `${name}: ${program} is missing. Install ${install}`),
);
if (missing.length > 0) fail(missing.join('\n'));

for (const [name, suite] of chosen) {
  const before = performance.now();
  await suite.run().catch((error: unknown) => fail(`${name}: ${messageOf(error)}`));
  console.log(`${name}: ${((performance.now() - before) / 1000).toFixed(0)} s`);
}
