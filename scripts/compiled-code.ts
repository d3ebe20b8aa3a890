/**
 * Writes a module together with V8's compiled code of it. Node can be given such code for a script, not for a module, so the
 * module is made a script:
 *
 *   joined.js      export const { m0_Kernel, ... } = what the script returns
 *   joined.txt     the script, in plain ASCII
 *   joined.code    V8's code of all that ran when the script was loaded once
 *
 * A thread that loads the module compiles next to nothing. V8 refuses code of another version or of other flags, and compiles the
 * script as if there was none.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** Names that the script uses in place of what only a module has. No name of this repository begins with a dollar. */
export const given = { 'import.meta.url': '$ownUrl', 'import.meta.resolve': '$resolveUrl' };
/** Parameters of the script. Functions that come from V8's code can't import: Node does not know whose they are. */
const parameters = ['require', '$import', ...Object.values(given)].join(', ');

/**
 * @param file the module's, `.js`
 * @param module its text as esbuild writes it, with `given` put in
 */
export function writeWithCode(file: string, module: string): void {
  const [script, code] = [file.replace(/js$/, 'txt'), file.replace(/js$/, 'code')];
  const { text, exported } = toScript(module);
  writeFileSync(script, text);
  writeFileSync(code, '');
  writeFileSync(file, moduleText(file, script, code, exported));
  // By its URL: a path may hold signs that mean something else in an import.
  const keep = `import { script } from ${JSON.stringify(pathToFileURL(file).href)};
import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(code)}, script.createCachedData());`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', keep], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${file} can't be loaded: ${stderr}`);
}

function moduleText(
  file: string,
  script: string,
  code: string,
  exported: readonly string[],
): string {
  return `import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
export const script = new Script(readFileSync(${JSON.stringify(script)}, 'latin1'), {
  filename: ${JSON.stringify(file)},
  cachedData: readFileSync(${JSON.stringify(code)}),
});
const load = script.runInThisContext();
const { url, resolve } = import.meta;
const importHere = (specifier) => import(specifier);
export const { ${exported.join(', ')} } = load(createRequire(url), importHere, url, resolve);
`;
}

/** An import of what `require` can give. A script with any other import is a syntax error. */
const importLine = /^import (?:(?:\* as )?(\w+))?(?:, )?(\{[^}]*\})? from ("node:[\w/]+");$/gm;
/** The one list of exports that esbuild writes. */
const exportList = /^export \{([^}]*)\};\s*$/m;
const dynamicImport = /\bimport\(/g;

/** Makes a function of a module: it returns what the module exports. */
function toScript(module: string): { text: string; exported: string[] } {
  const exported: string[] = [];
  const body = module
    .replaceAll(importLine, (_, whole?: string, members?: string, from?: string) =>
      [whole, members?.replaceAll(' as ', ': ')]
        .filter((names) => names !== undefined)
        .map((names) => `const ${names} = require(${from});`)
        .join(' '),
    )
    .replaceAll(dynamicImport, '$$import(')
    .replace(exportList, (_, list: string) => {
      const members = list.split(',').map((member) => {
        const [own = '', name = own] = member.trim().split(' as ');
        exported.push(name);
        return `${name}: ${own}`;
      });
      return `return { ${members.join(', ')} };`;
    });
  return { text: `(function (${parameters}) { 'use strict'; ${body}\n})`, exported };
}
