import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolder } from '../../core/base/package-files.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { quote } from '../banner.ts';
import { installSource } from './init.ts';
import { addMembers } from './json-edit.ts';

const template = fileURLToPath(new URL('templates/added/procedures.ts', packageFolder));
const own = 'tandem-rpc';

/**
 * `tandem init --add`: adds a dependency, two scripts and a module to the project in `folder`. Changes no other line of
 * package.json, overwrites nothing and downloads nothing.
 *
 * @param asked the module's path below `folder`; undefined: chosen by the project
 * @throws StartupError for a project that cannot take them; then nothing was written
 */
export async function addTo(
  folder: string,
  version: string,
  asked: string | undefined,
): Promise<void> {
  const target = resolve(folder);
  const project = readProject(target, folder);
  const module = asked === undefined ? chooseModule(project) : checkedModule(asked, project);
  const text = await readFile(template, 'utf8');
  const file = join(target, module);
  const isThere = existsSync(file);
  const { rpc } = project.scripts;
  const isNamed = typeof rpc === 'string' && rpc.split(' ').includes(module);
  if (isThere && !isNamed && readFileSync(file, 'utf8') !== text) {
    throw new StartupError(
      `${join(folder, module)} exists already, and nothing was written; choose another file: tandem init --add --module rpc${extensionOf(project)}`,
    );
  }
  const wanted = scriptsFor(module);
  const missing = Object.entries(wanted).filter(([name]) => !Object.hasOwn(project.scripts, name));
  const left = Object.keys(wanted).filter(
    (name) => Object.hasOwn(project.scripts, name) && project.scripts[name] !== wanted[name],
  );
  const source = installSource(version, target);
  let json = project.text;
  if (project.dependsIn === undefined) json = addMembers(json, 'dependencies', [[own, source]]);
  if (missing.length > 0) json = addMembers(json, 'scripts', missing);

  if (!isThere) {
    await mkdir(dirname(file), { recursive: true });
    // The flag x: a file that somebody else has made meanwhile is not overwritten either.
    await writeFile(file, text, { flag: 'wx' });
  }
  if (json !== project.text) {
    await writeFile(join(target, 'package.json'), json).catch(async (error: unknown) => {
      if (!isThere) await rm(file);
      throw error;
    });
  }
  const done = [
    ...(project.dependsIn === undefined ? [`the dependency ${own} (${source})`] : []),
    ...missing.map(([name, line]) => `the script ${name}: ${line}`),
  ];
  const lines = done.map((what) => `package.json: added ${what}`);
  if (!isThere) lines.push(`wrote ${module}${reasonFor(module, project)}`);
  if (lines.length === 0) {
    lines.push(
      `nothing to do: package.json has ${own} in ${project.dependsIn}, and ${module} is there`,
    );
  }
  for (const name of left) {
    lines.push(
      `left as it is: the script ${name}, which the project has already; instead run: npx ${wanted[name]}`,
    );
  }
  if (done.length > 0 || !isThere) lines.push('', ...nextSteps(target, left, wanted));
  process.stdout.write(`${lines.join('\n')}\n`);
}

interface Project {
  /** Of package.json. */
  readonly text: string;
  readonly scripts: Readonly<Record<string, unknown>>;
  /** The list in package.json that has this package. */
  readonly dependsIn: string | undefined;
  readonly isModule: boolean;
  readonly isTypeScript: boolean;
  readonly hasSource: boolean;
}

/** @throws StartupError where package.json cannot be read, or takes no dependency on this package */
function readProject(target: string, folder: string): Project {
  const path = join(target, 'package.json');
  const shown = join(folder, 'package.json');
  if (!existsSync(path)) {
    throw new StartupError(
      `${shown} does not exist: run npm init -y first, or tandem init without --add for a new project`,
    );
  }
  const text = readFileSync(path, 'utf8');
  const value = parse(text, shown);
  const lists = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  const [scripts, ...dependencies] = ['scripts', ...lists].map((name) => {
    const member = value[name] ?? {};
    if (isRecord(member)) return member;
    throw new StartupError(`${shown}: ${name} is not an object, and nothing was written`);
  });
  if (value.name === own) {
    throw new StartupError(
      `${shown} has the name ${own}, and npm installs no package in a project of the same name: choose another name`,
    );
  }
  const has = (name: string): string | undefined =>
    lists.find((_list, index) => Object.hasOwn(dependencies[index] ?? {}, name));
  return {
    text,
    scripts: scripts ?? {},
    dependsIn: has(own),
    isModule: value.type === 'module',
    isTypeScript: existsSync(join(target, 'tsconfig.json')) || has('typescript') !== undefined,
    hasSource: existsSync(join(target, 'src')),
  };
}

function parse(text: string, shown: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    // npm reads a file that begins with a byte order mark too.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new StartupError(
      `${shown} is not JSON, and nothing was written: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (isRecord(value)) return value;
  throw new StartupError(`${shown} is not a JSON object, and nothing was written`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Of a file that is an ES module in this project, as the package is: TypeScript refuses its import in CommonJS. */
function extensionOf({ isModule, isTypeScript }: Project): string {
  return `.${isModule ? '' : 'm'}${isTypeScript ? 'ts' : 'js'}`;
}

/** The module that the script `rpc` serves, from an earlier run; else one beside the project's sources. */
function chooseModule(project: Project): string {
  const { rpc } = project.scripts;
  const [, earlier] = (typeof rpc === 'string' && /^tandem serve ([\w./-]+)/.exec(rpc)) || [];
  return earlier ?? `${project.hasSource ? 'src/' : ''}procedures${extensionOf(project)}`;
}

/** @throws StartupError for a path that the scripts cannot name, or a file that would not be an ES module */
function checkedModule(asked: string, { isModule }: Project): string {
  const path = asked.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '');
  if (!/^[\w.-]+(?:\/[\w.-]+)*$/.test(path) || path.split('/').includes('..')) {
    throw new StartupError(
      `--module ${asked}: expected a path below the project, of letters, digits, ".", "_", "-" and "/"`,
    );
  }
  const [, m] = /[^/]\.(m?)[jt]s$/.exec(path) ?? [];
  if (m === undefined) {
    throw new StartupError(
      `--module ${asked}: expected a name that ends in .ts, .mts, .js or .mjs`,
    );
  }
  if (m === '' && !isModule) {
    const other = path.replace(/(?=[jt]s$)/, 'm');
    throw new StartupError(
      `--module ${asked} would be CommonJS, since package.json has no "type": "module"; name it ${other}`,
    );
  }
  return path;
}

function scriptsFor(module: string): Readonly<Record<string, string>> {
  const [, stem = '', extension = ''] = /^(.*)(\.m?[jt]s)$/.exec(module) ?? [];
  // Only TypeScript reads the types.
  const types = extension.endsWith('ts') ? ` --codegen ${stem}-api${extension}` : '';
  return {
    rpc: `tandem serve ${module}`,
    'rpc:dev': `tandem serve ${module} --watch${types}`,
  };
}

function reasonFor(module: string, { isModule }: Project): string {
  return isModule
    ? ''
    : ` (${module.slice(-4)}: an ES module in a project without "type": "module")`;
}

/** What installs and runs here: by the lock file of the project. */
function managerOf(target: string): string {
  if (existsSync(join(target, 'pnpm-lock.yaml'))) return 'pnpm';
  if (existsSync(join(target, 'yarn.lock'))) return 'yarn';
  return 'npm';
}

function nextSteps(
  target: string,
  left: readonly string[],
  scripts: Readonly<Record<string, string>>,
): string[] {
  const manager = managerOf(target);
  const shown = relative(process.cwd(), target);
  return [
    'Next:',
    ...(shown === '' ? [] : [`  cd ${quote(shown)}`]),
    `  ${manager} install`,
    `  ${left.includes('rpc:dev') ? `npx ${scripts['rpc:dev']}` : `${manager} run rpc:dev`}`,
    '  npx tandem call http://127.0.0.1:8000/rpc primes.count 1000000   # in a second terminal',
  ];
}
