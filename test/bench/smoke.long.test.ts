import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readResults } from '../../bench/results.ts';
import { modulePath, nodeFlags } from '../files.ts';

const main = modulePath('bench/main.ts');

function bench(...args: string[]) {
  return spawnSync(process.execPath, [...nodeFlags, main, ...args], { encoding: 'utf8' });
}

describe('npm run bench', () => {
  it('measures a suite in processes of its own and writes the results', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-smoke-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const picks = ['--only=micro', '--against=jayson', '--duration=0.02', '--rounds=1'];
    const { status, stdout, stderr } = bench(...picks, `--results=${folder}`);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /handle one call, time over the floor/);
    const { suites, machine } = readResults(join(folder, 'partial.json'));
    const subjects = new Set(suites[0]?.series.map(({ subject }) => subject));
    assert.deepEqual([...subjects], ['floor', 'tandem', 'tandem-text', 'jayson']);
    assert.ok(machine.commit !== '' && Object.hasOwn(machine.versions, 'piscina'));
    assert.ok(!existsSync(join(folder, 'latest.json')), 'a run that picks stands for nothing');
  });

  it('tells of each suite', () => {
    const { status, stdout } = bench('--help');
    assert.equal(status, 0);
    for (const name of ['micro', 'streams', 'sockets', 'soak'])
      assert.match(stdout, RegExp(`[ ,]${name}[,\\n]`));
  });

  it('names a mistake in one line', () => {
    const { status, stderr } = bench('--only=htp');
    assert.equal(status, 1);
    assert.match(stderr, /^no such suite: htp; there are micro, [^\n]+\n$/);
  });
});
