/**
 * `npm run test:languages [-- NAME...]`: programs in other languages, and of other people, against a server of this repository with
 * worker threads. `npm run test:recipes [-- NAME...]`: the recipes with frameworks. What they need is installed in folders of their
 * own; nothing of it is a dependency of this package.
 */
import { messageOf } from '../src/core/base/message-of.ts';
import { findProgram } from '../test/programs.ts';
import { clients } from './languages/clients.ts';
import { mcp } from './languages/mcp.ts';
import { recipes } from './languages/recipes.ts';
import { fail } from './script.ts';

const [kind, ...names] = process.argv.slice(2);
const suites = kind === 'recipes' ? recipes : { ...clients, mcp };
const known = Object.keys(suites);
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
