/** The page on other languages shows code that `npm run test:languages` runs. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fences, read } from '../docs/pages.ts';
import { root } from '../files.ts';

const page = read('docs/other-languages.md');
const withoutIndent = (text: string): string => text.replace(/^[ \t]+/gm, '');

/** The files of this folder that are written by hand. */
function sources(): string[] {
  const folder = join(root, 'test/languages');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => /\.(ts|py|go|java|ya?ml|xml)$/.test(entry.name))
    .map((entry) => withoutIndent(readFileSync(join(entry.parentPath, entry.name), 'utf8')));
}

test('each piece of code stands in a file of test/languages, line by line', () => {
  const files = sources();
  const pieces = fences(page)
    .filter(({ language }) => language !== 'sh')
    .flatMap(({ text }) => withoutIndent(text).trim().split('\n\n'));
  assert.ok(pieces.length > 15);
  assert.deepEqual(
    pieces.filter((piece) => !files.some((file) => file.includes(`${piece}\n`))),
    [],
  );
});

test('each command that generates is one of scripts/languages/clients.ts', () => {
  // A long command is written in parts.
  const script = read('scripts/languages/clients.ts').replace(/' \+\s+'/g, '');
  const commands = fences(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'))
    .filter((line) => !line.startsWith('tandem '));
  assert.equal(commands.length, 7);
  assert.deepEqual(
    commands.filter((command) => !script.includes(`'${command}'`)),
    [],
  );
});

test('the versions of the page are those of the lock files', () => {
  const locked = [
    ['openapi-typescript', 'typescript/package.json', /"openapi-typescript": "(.*)"/],
    ['@hey-api/openapi-ts', 'typescript/package.json', /"@hey-api\/openapi-ts": "(.*)"/],
    ['orval', 'typescript/package.json', /"orval": "(.*)"/],
    ['openapi-python-client', 'python/requirements.txt', /^openapi-python-client==(.*)$/m],
    ['datamodel-code-generator', 'python/requirements.txt', /^datamodel-code-generator==(.*)$/m],
    ['oapi-codegen', 'go/go.mod', /oapi-codegen\/oapi-codegen\/v2 v(\S+)/],
    ['ogen', 'go/go.mod', /ogen-go\/ogen v(\S+)/],
    [
      'openapi-generator',
      'java/pom.xml',
      /openapi-generator-maven-plugin<\/artifactId>\s*<version>(.*)</,
    ],
  ] as const;
  for (const [name, file, pattern] of locked) {
    const [, version = ''] = pattern.exec(read(`test/languages/${file}`)) ?? [];
    const [, shown = ''] = new RegExp(`^\\| ${name}.*? \\| ([\\d.]+)`, 'm').exec(page) ?? [];
    assert.equal(shown, version, name);
  }
});
