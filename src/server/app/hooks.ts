import { StartupError } from '../../core/base/startup-error.ts';
import { didYouMean, suggest } from '../../core/base/suggest.ts';
import type { Config } from '../../core/config/config.ts';
import { loadExports } from '../../core/modules/loader.ts';
import { type OnCall, toObservers } from '../../core/observe/call-event.ts';
import type { Authenticate } from '../http/edge/http-options.ts';

/** The operator's functions that an app calls: options of `RpcApp`, or the exports of a hooks module. */
export interface Hooks {
  /** Decides who calls, and refuses callers. */
  readonly authenticate?: Authenticate | undefined;
  /** Called with each call that has ended. */
  readonly onCall?: OnCall | readonly OnCall[] | undefined;
}

const names = ['authenticate', 'onCall'] as const satisfies readonly (keyof Hooks)[];

/**
 * @param where the beginning of the message
 * @throws StartupError for a hook that is no function
 */
export function assertHook(hook: unknown, where: string): void {
  if (hook === undefined || typeof hook === 'function') return;
  throw new StartupError(
    `${where}: expected a function, got ${hook === null ? 'null' : typeof hook}`,
  );
}

/** The hooks that the option `hooks` names, in the form in which code gives them. */
export async function hooksOf({
  hooks,
}: Pick<Config, 'hooks'>): Promise<Hooks & { readonly hooks: '' }> {
  return { ...(hooks === '' ? {} : await loadHooks(hooks)), hooks: '' };
}

/**
 * Loads a hooks module, on this thread only and once: a reload of the procedures does not load the hooks anew.
 *
 * @param path relative to the working directory, absolute, or a file: URL
 * @throws StartupError where the module can't be loaded, exports no hook, or exports a hook that is no function
 */
export async function loadHooks(path: string): Promise<Hooks> {
  const exported = await loadExports(path).catch((error: unknown) => {
    if (!(error instanceof StartupError)) throw error;
    throw new StartupError(`hooks: ${error.message}`, { cause: error });
  });
  const found = names.filter((name) => Object.hasOwn(exported, name));
  for (const name of found) {
    const where = `hooks ${path}: ${name}`;
    if (exported[name] === undefined) throw new StartupError(`${where}: it is undefined`);
    if (name === 'onCall') toObservers(exported[name], where);
    else assertHook(exported[name], where);
  }
  for (const name of Object.keys(exported)) {
    // An `authenticate` that is misspelt would let everybody in, and nobody would be told.
    const meant = names.some((known) => known === name) ? undefined : suggest(name, names);
    if (meant !== undefined) {
      throw new StartupError(`hooks ${path}: it exports ${name}${didYouMean(meant)}`);
    }
  }
  if (found.length === 0) {
    throw new StartupError(`hooks ${path}: it exports none of ${names.join(', ')}`);
  }
  // The names and types were checked above.
  return Object.fromEntries(found.map((name) => [name, exported[name]])) as Hooks;
}
