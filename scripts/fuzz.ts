/**
 * Throws hostile data at the service until the time is over, each kind in turn. Prints how many cases ran. Exits with 1 at the first
 * case that fails, and prints its seed, its path and the shrunk case. The seed and the path repeat the case.
 */
import { randomInt } from 'node:crypto';
import { program } from 'commander';
import { messageOf } from '../src/core/base/message-of.ts';
import { fuzzers } from '../test/hostile/fuzz/fuzzers.ts';
import { fail, wholeNumber } from './script.ts';

const { minutes, only, path, ...values } = program
  .name('npm run fuzz --')
  .option('--minutes <n>', 'for how long', wholeNumber(1), 1)
  .option('--only <kinds>', `separated by commas: ${Object.keys(fuzzers).join(', ')}`)
  .option('--seed <n>', 'of the first case', wholeNumber())
  .option('--path <p>', 'repeats one case, with --seed and --only')
  .parse()
  .opts<{ minutes: number; only?: string; seed?: number; path?: string }>();
/** Each run has another seed, unless --seed gives one. */
const first = values.seed ?? randomInt(2 ** 31);
const known = Object.keys(fuzzers);
const names = only?.split(',') ?? known;
for (const name of names) {
  if (!known.includes(name)) fail(`no such fuzzer: ${name}; there are ${known.join(', ')}`);
}
if (path !== undefined && names.length !== 1) fail('--path repeats one case: say which by --only');

/** Starts a fuzzer, runs rounds until the time is over, and ends the fuzzer. */
async function run(name: string, until: number): Promise<{ cases: number; seed: number }> {
  const kind = fuzzers[name];
  if (kind === undefined) throw new Error(`no fuzzer ${name}`);
  const fuzzer = await kind.start();
  let cases = 0;
  let seed = first;
  try {
    do {
      const replay = path === undefined ? {} : { path };
      await fuzzer.run({ seed, runs: kind.round, ...replay });
      cases += kind.round;
      seed = (seed + 1) % 2 ** 31;
    } while (path === undefined && performance.now() < until);
  } finally {
    await fuzzer.close();
  }
  return { cases, seed };
}

console.log(`seed ${first}`);
const share = (minutes * 60_000) / names.length;
for (const name of names) {
  try {
    const { cases, seed } = await run(name, performance.now() + share);
    console.log(`${name}: ${cases} cases, seeds ${first} to ${seed - 1}`);
  } catch (error) {
    fail(`--only ${name} ${messageOf(error)}`);
  }
}
process.exit(0);
