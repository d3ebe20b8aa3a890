import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { makeReadable } from '../../scripts/readable-coverage.ts';

const c8 = join(dirname(createRequire(import.meta.url).resolve('c8/package.json')), 'bin/c8.js');

test('c8 reads what was counted of a program with a mapped module that lies in no file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-coverage-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const map = JSON.stringify({ version: 3, sources: ['one.ts'], names: [], mappings: 'AAAA' });
  const mapped = `export {};\n//# sourceMappingURL=data:application/json,${encodeURIComponent(map)}`;
  const url = `data:text/javascript,${encodeURIComponent(mapped)}`;
  writeFileSync(join(folder, 'counted.mjs'), `await import(${JSON.stringify(url)});\n`);
  const counts = join(folder, 'counts');
  execFileSync(process.execPath, ['counted.mjs'], {
    cwd: folder,
    env: { ...process.env, NODE_V8_COVERAGE: counts },
  });
  const report = ['report', '--temp-directory', counts, '--reporter', 'text'];
  const read = () =>
    spawnSync(process.execPath, [c8, ...report], { cwd: folder, encoding: 'utf8' });
  assert.match(
    read().stderr,
    /ERR_INVALID_URL_SCHEME/,
    'c8 reads such maps now: makeReadable() can go',
  );
  makeReadable(counts);
  assert.match(read().stdout, /counted\.mjs +\| +100/);
});
