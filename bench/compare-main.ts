/** `npm run bench:compare OLD.json NEW.json`: prints what changed. Exits with 1 where ours got slower by more than the noise. */
import { messageOf } from '../src/core/base/message-of.ts';
import { type Change, compare } from './compare.ts';
import { readResults } from './results.ts';
import { figure, markdownTable } from './table.ts';

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)}%`;
}

function rowOf(change: Change): string[] {
  const { key, old, unit, gain, noise, verdict, role } = change;
  const who = role === 'ours' ? verdict : `${verdict} (${role})`;
  return [
    who,
    key,
    figure(old),
    figure(change.new),
    unit,
    percent(gain),
    `±${(noise * 100).toFixed(1)}%`,
  ];
}

function main(args: readonly string[]): boolean {
  const [oldPath, newPath] = args;
  if (oldPath === undefined || newPath === undefined || args.length > 2) {
    throw new Error('usage: npm run bench:compare -- OLD.json NEW.json');
  }
  const before = readResults(oldPath);
  const after = readResults(newPath);
  if (before.machine.cpu !== after.machine.cpu || before.machine.cores !== after.machine.cores) {
    console.error('two machines: only what is relative to a floor can be compared');
  }
  const { changes, missing, targets, hasRegressed } = compare(before, after);
  const moved = changes.filter(({ verdict }) => verdict !== 'same');
  const head = ['', 'figure', before.machine.commit, after.machine.commit, 'unit', 'gain', 'noise'];
  if (moved.length > 0) console.log(`${markdownTable(head, moved.map(rowOf))}\n`);
  for (const text of targets) console.log(text);
  for (const key of missing) console.log(`in one of them only: ${key}`);
  console.log(
    `${moved.length} of ${changes.length} figures changed by more than the noise of the rounds`,
  );
  return hasRegressed;
}

try {
  process.exitCode = main(process.argv.slice(2)) ? 1 : 0;
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 2;
}
