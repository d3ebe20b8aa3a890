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

  it('keeps what was measured before a suite that fails, and names that suite', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-smoke-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const picks = ['--only=micro,siege', '--against=jayson', '--duration=0.02', '--rounds=1'];
    // Too few files for the connections of the siege.
    const words = [process.execPath, ...nodeFlags, main, ...picks, `--results=${folder}`];
    const shell = ['-c', 'ulimit -n 2000 && exec "$@"', 'sh', ...words];
    const { status, stdout, stderr } = spawnSync('sh', shell, { encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^2 suites, about \d+ s$/m);
    assert.match(stderr, /siege failed: .*5550 connections are more than the 2000 files/);
    assert.match(stdout, /handle one call, time over the floor/);
    const { suites, failures } = readResults(join(folder, 'partial.json'));
    assert.deepEqual(
      suites.map(({ name }) => name),
      ['micro'],
    );
    assert.equal(failures.length, 1);
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
