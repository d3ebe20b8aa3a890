/** The pages are in the package, with all that they link to. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { posix } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { root } from '../files.ts';
import { links, pages, read } from './pages.ts';

it('no link of a page is dead in the package', async () => {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'],
    { cwd: root },
  );
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path) ?? [];
  assert.deepEqual(
    pages.filter((page) => !paths.includes(page)),
    [],
    'pages that are left out',
  );
  const dead = pages.flatMap((page) =>
    links(read(page))
      .map((link) => ({ link, file: link.split('#')[0] ?? '' }))
      .filter(({ file }) => {
        const target = posix.join(posix.dirname(page), file);
        return (
          file !== '' && !paths.some((path) => path === target || path.startsWith(`${target}/`))
        );
      })
      .map(({ link }) => `${page}: ${link}`),
  );
  assert.deepEqual(dead, []);
});
