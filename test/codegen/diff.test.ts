import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { diffLines } from '../../src/cli/tools/codegen.ts';
import { seed } from '../seed.ts';

const before = `// head

export interface Contract {
  a: {
    params: { x: number };
    result: number;
  };
  'b.c': {
    params: { x: number };
    result: number;
  };
  d: {
    result: string;
  };
}

export interface User {
  id: string;
}
`;

describe('a diff', () => {
  test('of equal texts is empty', () => assert.equal(diffLines(before, before), ''));

  test('shows what has changed, and where it belongs', () => {
    const after = before
      .replace("c': {\n    params: { x: number }", "c': {\n    params: { y: number }")
      .replace('  id: string;\n', '  id: string;\n  name: string;\n');
    assert.equal(
      diffLines(before, after),
      `@@ 'b.c' @@
     result: number;
   };
   'b.c': {
-    params: { x: number };
+    params: { y: number };
     result: number;
   };
   d: {
@@ User @@

 export interface User {
   id: string;
+  name: string;
 }
`,
    );
  });

  test('of two texts without a line in common is short enough to read', () => {
    const text = (name: string): string =>
      Array.from({ length: 50_000 }, (_, index) => `${name}${index}`).join('\n');
    const diff = diffLines(text('a'), text('b')).split('\n');
    assert.equal(diff.length, 401);
    assert.match(diff.at(-1) ?? '', /and \d+ more lines/);
  });

  test('holds every line that one text has and the other has not', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        const rows = diffLines(a.join('\n'), b.join('\n')).split('\n');
        const marked = (mark: string): string[] =>
          rows.filter((row) => row.startsWith(mark)).map((row) => row.slice(1));
        const removed = marked('-');
        const added = marked('+');
        // What stays is the same on both sides, in the same order.
        assert.equal(a.length - removed.length, b.length - added.length);
        const count = (list: string[], one: string): number => list.filter((x) => x === one).length;
        for (const one of 'abcd') {
          assert.equal(count(a, one) - count(removed, one), count(b, one) - count(added, one));
        }
      }),
      { seed },
    );
  });
});
