import { startTimer } from '../base/timer.ts';
import type { LoadedModules } from '../modules/modules.ts';

/**
 * Tears modules down, for `limitMs` at most. A teardown that hangs is not waited for any longer.
 *
 * @returns one line that names what hangs; undefined where all have ended
 * @throws StartupError of a teardown that failed
 */
export async function teardownWithin(
  modules: LoadedModules,
  limitMs: number,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = startTimer(limitMs, () => {
      const named = modules.modules.filter(({ teardown }) => teardown !== undefined);
      const paths = named.map(({ given }) => given).join(', ');
      resolve(`teardown() of ${paths} had not ended after ${limitMs} ms: it is left behind`);
    });
  });
  const torn = modules.teardown();
  torn.catch(() => {}); // the teardown may fail after the limit, when nobody listens
  try {
    return await Promise.race([torn.then(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
