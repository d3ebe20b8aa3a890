import { dirname } from 'node:path';
import { messageOf } from '../base/message-of.ts';
import { onFilesLoaded } from '../modules/import-graph.ts';
import type { Log } from '../observe/log.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface ModuleWatch {
  close(): Promise<void>;
}

/** One save may be several events: a reload waits until no event has come for this long. */
const settleMs = 100;

/**
 * Reloads a dispatcher's modules when their files change. Folders are watched instead of files, so that new files,
 * and files that were broken when they were first imported, are seen too. An event that changes nothing that was
 * loaded costs only a comparison, since the reload itself compares contents.
 */
export async function watchModules(dispatcher: Dispatcher, log: Log): Promise<ModuleWatch> {
  // Loaded on demand, since a service in production does not watch.
  const { watch } = await import('chokidar');
  const watched = new Set<string>();
  const newFolders = (): string[] => {
    const folders = new Set(dispatcher.files.map((file) => dirname(file)));
    const added = [...folders].filter((folder) => !watched.has(folder));
    for (const folder of added) watched.add(folder);
    return added;
  };
  const addFolders = (): void => {
    const added = newFolders();
    if (added.length === 0) return;
    watcher.add(added);
    reloadSoon(); // a file may have changed before its folder was watched
  };
  const watcher = watch(newFolders(), { ignoreInitial: true, depth: 0 });
  let timer: NodeJS.Timeout | undefined;
  let lastFailure: string | undefined;
  const reload = async (): Promise<void> => {
    try {
      if (await dispatcher.reload()) addFolders();
      lastFailure = undefined;
    } catch (error) {
      const detail = messageOf(error);
      // Editors write a file more than once: the same mistake is logged once.
      if (detail === lastFailure) return;
      lastFailure = detail;
      log.error(
        { event: 'reload-failed' },
        `not reloaded, the modules serve as they were: ${detail}`,
      );
    }
  };
  const reloadSoon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void reload(), settleMs);
  };
  watcher.on('all', reloadSoon);
  let isAdding = false;
  const stop = onFilesLoaded(() => {
    if (isAdding) return;
    isAdding = true;
    setImmediate(() => {
      isAdding = false;
      addFolders();
    });
  });
  watcher.on('error', (error) =>
    log.warn({ event: 'watch-failed', detail: String(error) }, 'watching the modules failed'),
  );
  await new Promise<void>((resolve) => {
    watcher.once('ready', resolve);
  });
  return {
    async close() {
      stop();
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
