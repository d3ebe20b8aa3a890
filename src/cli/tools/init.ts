import { existsSync, lstatSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { StartupError } from '../../base/startup-error.ts';
import { quote } from '../banner.ts';
import { installSource } from './install-source.ts';

// Asks for package.json by the package's own name: the path to the templates differs between src/ and dist/.
const packageFile = createRequire(import.meta.url).resolve('tandem-rpc/package.json');
const packageFolder = dirname(packageFile);
const templates = join(packageFolder, 'templates', 'basic');

/** npm renames a .gitignore in a package, or leaves it out. So the template has another name. */
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore' };

/** `tandem init`: writes a project into `folder`. Downloads nothing and overwrites nothing. */
export async function init(folder: string, version: string): Promise<void> {
  const target = resolve(folder);
  if (existsSync(target) && !lstatSync(target).isDirectory()) {
    throw new StartupError(`${folder} is a file; name a folder`);
  }
  const source = installSource(packageFolder, version, target);
  const files = await readTemplates({ name: packageName(target), source });
  const taken = files.find(({ path }) => existsSync(join(target, path)));
  if (taken !== undefined) {
    throw new StartupError(
      `${join(folder, taken.path)} exists already, and nothing was written; choose another folder`,
    );
  }
  await mkdir(target, { recursive: true });
  for (const { path, text } of files) {
    // The flag x: a file that somebody else has made meanwhile is not overwritten either.
    await writeFile(join(target, path), text, { flag: 'wx' });
  }
  process.stdout.write(`${report(target, files)}\n`);
}

interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

async function readTemplates(values: Readonly<Record<string, string>>): Promise<TemplateFile[]> {
  const names = (await readdir(templates)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(templates, name), 'utf8');
      const filled = text.replace(/\{\{(\w+)\}\}/g, (mark, key: string) =>
        // JSON.stringify escapes what would end a string of JSON: a path may hold such characters.
        JSON.stringify(values[key] ?? mark).slice(1, -1),
      );
      return { path: renamed[name] ?? name, text: filled };
    }),
  );
}

const refusedNames = ['tandem-rpc', 'node_modules', 'favicon.ico'];

/** The folder's name, changed to a name that npm accepts. */
function packageName(target: string): string {
  const name = basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
    .slice(0, 200);
  // npm does not install a package below a project of the same name.
  return name === '' || refusedNames.includes(name) ? 'tandem-service' : name;
}

function report(target: string, files: readonly TemplateFile[]): string {
  const shown = relative(process.cwd(), target);
  const enter = shown === '' ? [] : [`  cd ${quote(shown)}`];
  return [
    `wrote ${files.map(({ path }) => path).join(', ')}`,
    '',
    'Next:',
    ...enter,
    '  npm install',
    '  npm start        # serves procedures.ts',
    '  npm run client   # in a second terminal',
  ].join('\n');
}
