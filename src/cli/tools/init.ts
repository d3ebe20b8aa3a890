import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolder } from '../../core/base/package-files.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { quote } from '../banner.ts';

const templates = fileURLToPath(new URL('templates/basic', packageFolder));

/** npm renames a .gitignore in a package, or leaves it out. So the template has another name. */
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore' };

/** `tandem init`: writes a project into `folder`. Downloads nothing and overwrites nothing. */
export async function init(folder: string, version: string): Promise<void> {
  const target = resolve(folder);
  if (existsSync(target) && !lstatSync(target).isDirectory()) {
    throw new StartupError(`${folder} is a file; name a folder`);
  }
  const source = installSource(version, target);
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
    '  npm run dev      # serves procedures.ts, and again at each save',
    '  npm run client   # in a second terminal',
  ].join('\n');
}

/**
 * What a project in `target` has to depend on to get the copy of this package that runs now: the tarball or folder
 * that the package was installed from, if npm has noted one, else its version on the registry.
 */
function installSource(version: string, target: string): string {
  const own = resolve(fileURLToPath(packageFolder));
  const modules = dirname(own);
  // A clone, or a package that was linked.
  const isInstalled = basename(modules) === 'node_modules';
  const from = isInstalled ? tarballOf(modules, basename(own)) : own;
  return from === undefined
    ? `^${version}`
    : `file:${relative(target, from).replaceAll('\\', '/')}`;
}

interface Lock {
  readonly packages?: Readonly<Record<string, { readonly resolved?: unknown } | undefined>>;
}

/**
 * The tarball's absolute path; undefined if the package came from elsewhere, the tarball is gone, or another
 * package manager installed it.
 */
function tarballOf(modules: string, name: string): string | undefined {
  const file = join(modules, '.package-lock.json');
  if (!existsSync(file)) return undefined; // only npm writes this file
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as Lock;
  const from = packages?.[`node_modules/${name}`]?.resolved;
  if (typeof from !== 'string' || !from.startsWith('file:')) return undefined;
  const tarball = resolve(dirname(modules), from.slice('file:'.length));
  return existsSync(tarball) ? tarball : undefined;
}
