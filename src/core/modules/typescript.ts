import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../base/message-of.ts';
import { ownExtension } from '../base/package-files.ts';

export function isTypeScript(path: string | URL): boolean {
  return /\.(?:[cm]?ts|tsx)$/.test(typeof path === 'string' ? path : path.pathname);
}

/** The mark that tsx leaves while its hooks for the whole thread are active. */
const activeCount = Symbol.for('tsx:global-cjs-loader-count');

function isActive(): boolean {
  const count = (globalThis as { [activeCount]?: number })[activeCount];
  return count !== undefined && count > 0;
}

/**
 * Registers tsx in this thread when one of `paths` is TypeScript and tsx isn't active already. Node's own
 * type stripping is not enough: it has no enums and no decorators. tsx takes one tsconfig.json for all it loads:
 * that of the first TypeScript module, so that `paths` of a package within a repository hold there.
 *
 * @returns whether it was registered now
 */
export async function ensureTypeScript(paths: readonly (string | URL)[]): Promise<boolean> {
  if (!paths.some(isTypeScript) || isActive()) return false;
  const [commonJs, modules] = await Promise.all([import('tsx/cjs/api'), import('tsx/esm/api')]);
  const tsconfig = projectOf(paths);
  const before = process.env[variable];
  // The variable is all that tsx asks for CommonJS. It is put back: processes of the modules may use tsx, too.
  if (tsconfig !== undefined) process.env[variable] = tsconfig;
  try {
    commonJs.register();
    modules.register(tsconfig === undefined ? {} : { tsconfig });
  } finally {
    if (before === undefined) delete process.env[variable];
    else process.env[variable] = before;
  }
  registered = tsconfig;
  return true;
}

/** Names the tsconfig.json for tsx; without it tsx looks for one from the working directory upwards. */
const variable = 'TSX_TSCONFIG_PATH';

/** What tsx was registered with in this thread: workers take the same. */
let registered: string | undefined;

/** undefined: what tsx takes by itself, which is what the operator has asked for where the variable is set. */
function projectOf(paths: readonly (string | URL)[]): string | undefined {
  const first = paths.find(isTypeScript);
  if (first === undefined || process.env[variable] !== undefined) return undefined;
  const isUrl = first instanceof URL || first.startsWith('file:');
  return tsconfigOf(isUrl ? fileURLToPath(first) : first);
}

/**
 * The `execArgv` of a worker thread that is to load `paths`; undefined: this process's own, as Node
 * passes it on. A thread needs tsx if a module is TypeScript, where this package itself runs from
 * source, and where tsx is active here: a JavaScript module may import TypeScript then.
 */
export function workerExecArgv(paths: readonly string[]): string[] | undefined {
  if (ownExtension !== '.ts' && !isActive() && !paths.some(isTypeScript)) return undefined;
  const [commonJs, modules] = ['tsx/cjs/api', 'tsx/esm/api'].map((name) =>
    JSON.stringify(import.meta.resolve(name)),
  );
  // `--import tsx` would do, but on Node 20 it registers its hooks for ES modules on the main thread only.
  const tsconfig = registered ?? (isActive() ? undefined : projectOf(paths));
  const imports = `import { register as a } from ${commonJs}; import { register as b } from ${modules};`;
  const register =
    tsconfig === undefined
      ? 'a(); b();'
      : `process.env.${variable} = ${JSON.stringify(tsconfig)}; a(); b(); delete process.env.${variable};`;
  const script = `${imports} ${register}`;
  return [...inheritedFlags(), '--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

/** A worker takes them and then can't start: they are for the process's own program, or a port that two can't share. */
const ofProgram = /^--(?:input-type|inspect)/;

/** The flags of this process, except for those that a worker refuses (heap sizes and others of the whole process). */
function inheritedFlags(): string[] {
  const flags: string[][] = [];
  for (const arg of process.execArgv) {
    if (arg.startsWith('-')) flags.push([arg]);
    else flags.at(-1)?.push(arg);
  }
  const isTsx = (flag: readonly string[]): boolean =>
    /^(?:--import|--require|-r|--(?:experimental-)?loader)(?:=|$)/.test(flag[0] ?? '') &&
    flag.some((text) => /(?:^|[/=])tsx(?:$|\/)/.test(text)); // registered by the caller
  return withoutRefused(flags.filter((flag) => !isTsx(flag) && !ofProgram.test(flag[0] ?? '')));
}

/** No version of Node has it. */
const noFlag = '--no-flag-of-node';

/** Node names what a worker refuses, of V8's flags only if it refuses none of its own. With a wrong flag no thread ever starts. */
function withoutRefused(flags: readonly (readonly string[])[]): string[] {
  try {
    void new Worker('', { eval: true, execArgv: [...flags.flat(), noFlag] });
  } catch (error) {
    const refused = messageOf(error).split(/: |, /);
    const left = flags.filter(([name = '']) => !refused.includes(name));
    if (left.length < flags.length) return withoutRefused(left);
  }
  return flags.flat();
}

/** The tsconfig.json that TypeScript's own tools take for a file: the nearest above it; undefined: there is none. */
function tsconfigOf(file: string): string | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, 'tsconfig.json');
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Most files that a tsconfig.json may extend one after another, in case they extend each other. */
const maxExtended = 8;

/**
 * The tsconfig.json whose `paths` have the name of what a file imports: the nearest of the file, or one that it extends by
 * a relative path.
 *
 * @param name `~/users` of `import '~/users'`, or `~`
 */
export function tsconfigWithPath(file: string, name: string): string | undefined {
  // Node takes `@/users` for a package of that name, and `~/users` for a file of the package `~`.
  const [first = name] = name.split('/');
  const keys = [`"${name}"`, `"${name}/`, `"${first}/*"`, `"${first}*"`];
  let path = tsconfigOf(file);
  for (let i = 0; i < maxExtended && path !== undefined && existsSync(path); i++) {
    const text = readFileSync(path, 'utf8');
    if (text.includes('"paths"') && keys.some((key) => text.includes(key))) return path;
    const base = /"extends"\s*:\s*"(\.[^"]*?)(?:\.json)?"/.exec(text)?.[1];
    path = base === undefined ? undefined : join(dirname(path), `${base}.json`);
  }
  return undefined;
}
