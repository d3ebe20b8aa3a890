import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { moduleUrl } from '../files.ts';

const usage = 'npm run proof -- [options]';

/** Runs a script with two options that prints what it has read. */
function run(...args: readonly string[]): {
  status: number | null;
  stdout: string;
  stderr: string;
} {
  const script = `
    import { readArguments, readCount, readNumber } from ${JSON.stringify(moduleUrl('scripts/arguments.ts'))};
    const values = readArguments(${JSON.stringify(usage)}, {
      calls: { type: 'string', default: '5' },
      minutes: { type: 'string', default: '0.5' },
      clock: { type: 'boolean', default: true },
    });
    console.log(readCount('calls', values.calls, 1), readNumber('minutes', values.minutes), values.clock);`;
  const node = [...process.execArgv, '--input-type=module', '-e', script, '--', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr: stderr.trim() };
}

test('the options of a script: as given, by default, and turned off', () => {
  assert.deepEqual(run('--calls', '7', '--no-clock'), {
    status: 0,
    stdout: '7 0.5 false',
    stderr: '',
  });
});

test('--help of a script prints its usage, whatever else is asked', () => {
  assert.deepEqual(run('--calls', '0', '--help'), { status: 0, stdout: usage, stderr: '' });
});

for (const [args, message] of [
  [['--call', '7'], `Unknown option '--call'\n\n${usage}`],
  [['--calls'], `Option '--calls <value>' argument missing\n\n${usage}`],
  [['--calls', '0'], '--calls is a whole number of at least 1, not 0'],
  [['--calls', '1.5'], '--calls is a whole number of at least 1, not 1.5'],
  [['--minutes', 'soon'], '--minutes is a number of at least 0, not soon'],
] as const) {
  test(`a mistake in the options of a script is told without a stack: ${args.join(' ')}`, () => {
    assert.deepEqual(run(...args), { status: 1, stdout: '', stderr: message });
  });
}
