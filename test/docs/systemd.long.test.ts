/** The unit files of the pages, as systemd reads them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeWith } from '../describe-with.ts';
import { temporaryFolder } from '../files.ts';
import { findProgram } from '../programs.ts';
import { fences, pages, read } from './pages.ts';

const needs = 'needs systemd-analyze: apt-get install --no-install-recommends systemd';

const units = pages.flatMap((page) =>
  fences(read(page))
    .filter(({ language, text }) => language === 'ini' && text.includes('\n[Service]\n'))
    .map(({ text }) => ({ page, text })),
);

test('there are unit files', () => {
  assert.ok(units.length > 0);
});

describeWith(findProgram('systemd-analyze'), needs, 'the unit files of the pages', (analyze) => {
  for (const { page, text } of units) {
    test(`systemd has nothing to say about that of ${page}`, (t) => {
      const file = join(temporaryFolder(t), 'tandem.service');
      // systemd looks whether the program is there. Node lies elsewhere on some machines.
      assert.ok(text.includes('ExecStart=/usr/bin/node '));
      writeFileSync(file, text.replace('/usr/bin/node', process.execPath));
      const { status, stdout, stderr } = spawnSync(analyze, ['verify', file], { encoding: 'utf8' });
      // Of other units of the machine it may have something to say.
      const told = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('tandem'));
      assert.deepEqual(told, []);
      assert.equal(status, 0, stderr);
    });
  }
});
