import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isOwnFolder } from '../../src/core/base/compile-cache.ts';

test("the folder of the compile cache is 0700 and its owner's, else it is not used", {
  skip: process.platform === 'win32' && 'Windows has no such modes',
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-cache-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const own = join(folder, '.cache', 'own');
  assert.equal(isOwnFolder(own), true, 'it is made');
  assert.equal(statSync(own).mode & 0o777, 0o700);
  assert.equal(isOwnFolder(own), true, 'it is there');
  for (const mode of [0o755, 0o770, 0o777]) {
    chmodSync(own, mode);
    assert.equal(isOwnFolder(own), false, mode.toString(8));
  }
  const link = join(folder, 'link');
  const target = join(folder, 'target');
  mkdirSync(target, { mode: 0o700 });
  symlinkSync(target, link);
  assert.equal(isOwnFolder(link), false, 'a link');
  writeFileSync(join(folder, 'file'), '');
  assert.equal(isOwnFolder(join(folder, 'file', 'below')), false, 'it can not be made');
  if (process.getuid?.() !== 0) return;
  chownSync(target, 1, 1);
  assert.equal(isOwnFolder(target), false, 'of another user');
});
