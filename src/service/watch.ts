import { dirname } from 'node:path';
import type { Log } from '../observe/log.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface ModuleWatch {
  close(): Promise<void>;
}

/** One save may be several events: a reload waits until none has come for this long. */
const settleMs = 100;

/**
 * Reloads a dispatcher's modules when their files change. The folders are watched, not the files: a file
 * that is new, or was broken when it was first imported, is seen as well. What did not change anything
 * that was loaded is passed over by the reload itself, which compares contents.
 */
export async function watchModules(dispatcher: Dispatcher, log: Log): Promise<ModuleWatch> {
  // Loaded on demand: production does not watch.
  const { watch } = await import('chokidar');
  const folders = (): string[] => [...new Set(dispatcher.files.map((file) => dirname(file)))];
  const watcher = watch(folders(), { ignoreInitial: true, depth: 0 });
  let timer: NodeJS.Timeout | undefined;
  let lastFailure: string | undefined;
  const reload = async (): Promise<void> => {
    try {
      if (await dispatcher.reload()) watcher.add(folders());
      lastFailure = undefined;
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      // Editors write a file more than once: the same mistake is told once.
      if (detail === lastFailure) return;
      lastFailure = detail;
      log.error(
        { event: 'reload-failed' },
        `not reloaded, the modules serve as they were: ${detail}`,
      );
    }
  };
  watcher.on('all', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void reload(), settleMs);
  });
  watcher.on('error', (error) =>
    log.warn({ event: 'watch-failed', detail: String(error) }, 'watching the modules failed'),
  );
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
  });
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
