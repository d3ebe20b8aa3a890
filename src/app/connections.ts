import type { Config } from '../config/config.ts';
import { threadsOf } from '../config/kinds/groups.ts';
import { mostOperators } from './listening.ts';
import { openFilesNote, readOpenFiles, roomFor } from './open-files.ts';

/**
 * How many connections may be open: as many as configured, or as many as the limit of open files leaves room for.
 * `note` says so where the limit decides.
 */
export function fittingConnections(config: Config): {
  readonly maxConnections: number;
  readonly note: readonly string[];
} {
  const { maxConnections, metricsPort } = config;
  const files = readOpenFiles();
  if (files === undefined) return { maxConnections, note: [] };
  const open = files.open + (metricsPort === 'same' ? 0 : mostOperators);
  const room = roomFor(maxConnections, { ...files, open }, threadsOf(config));
  const note = openFilesNote(maxConnections, files.limit, room);
  return { maxConnections: room.connections, note: note === undefined ? [] : [note] };
}
