import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './files.ts';

const folder = join(root, 'test');

function sources(): { name: string; text: string }[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts') && !name.endsWith('-d.ts'))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
}

/** This file, and those whose purpose are fresh seeds: no part of `npm test`. */
const fresh = ['seed.test.ts', 'fresh-properties.long.test.ts', 'hostile/fuzz.long.test.ts'];

/** Each property that is run, from its line to the end of its statement. */
const properties = /^( *)(?:\S.*)?\bfc\.(?:assert|check|sample)\((?:.*\);$|[\s\S]*?^\1\S.*;$)/gm;

test('no test draws a fresh seed: what failed once fails again', () => {
  for (const { name, text } of sources()) {
    const runs = text.match(/\bfc\.(?:assert|check|sample)\(/g)?.length ?? 0;
    const found = text.match(properties) ?? [];
    assert.equal(found.length, runs, `${name}: a property that is not read here`);
    for (const property of found) {
      assert.match(property, /\bseed\b|\.\.\.replay\b/, `${name}: a property without a seed`);
    }
    if (fresh.includes(name)) continue;
    assert.doesNotMatch(text, /\bMath\.random\(|\brandom(?:Int|UUID|Bytes)\(/, name);
  }
});
