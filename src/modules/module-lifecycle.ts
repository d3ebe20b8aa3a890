import { StartupError } from '../base/startup-error.ts';
import type { ModuleState } from '../router/types.ts';
import { guardExit } from './exit-guard.ts';
import { summaryWithPlace } from './load-error.ts';
import type { ModuleFile } from './module-file.ts';
import { exportOf } from './module-router.ts';

type Setup = () => unknown;
type Teardown = (state: unknown) => unknown;

export interface ModuleLifecycle {
  /** The module as its user named it. */
  readonly given: string;
  readonly url: string;
  readonly setup: Setup | undefined;
  readonly teardown: Teardown | undefined;
  /** Runs setup() once and keeps its value as the module's state. @throws StartupError */
  start(): Promise<void>;
  /** Runs teardown(state) once, if setup has run. @throws StartupError */
  stop(): Promise<void>;
}

/** @throws StartupError for an export `setup` or `teardown` that is not a function */
export function createLifecycle(
  file: ModuleFile,
  namespace: Readonly<Record<string, unknown>>,
  state: ModuleState,
  generation: number,
): ModuleLifecycle {
  const setup = functionOf<Setup>(namespace, 'setup', file);
  const teardown = functionOf<Teardown>(namespace, 'teardown', file);
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  return {
    given: file.given,
    url: file.url,
    setup,
    teardown,
    start() {
      starting ??= run(file, 'setup', async () => {
        const release = guardExit(generation);
        try {
          state.value = await setup?.();
        } finally {
          release();
        }
      });
      return starting;
    },
    stop() {
      if (starting === undefined) return Promise.resolve();
      stopping ??= starting.then(
        () => run(file, 'teardown', async () => void (await teardown?.(state.value))),
        () => {},
      );
      return stopping;
    },
  };
}

async function run(file: ModuleFile, name: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const text = `${name}() of ${file.given} failed: ${summaryWithPlace(error)}`;
    throw new StartupError(text, { cause: error });
  }
}

function functionOf<F>(
  namespace: Readonly<Record<string, unknown>>,
  name: string,
  file: ModuleFile,
): F | undefined {
  const value = exportOf(namespace, name);
  if (value === undefined || typeof value === 'function') return value as F | undefined;
  throw new StartupError(
    `cannot use ${file.given}: its export "${name}" must be a function, it is ${value === null ? 'null' : `of type ${typeof value}`}`,
  );
}
