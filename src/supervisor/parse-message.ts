import type {
  Figures,
  FromServer,
  ReadyReport,
  ReloadOutcome,
  StartFailure,
  StartOrder,
  ToServer,
} from './messages.ts';
import {
  type Fields,
  isAmount,
  isFields,
  parseSnapshot,
  parseSnapshots,
} from './parse-snapshot.ts';

/**
 * Reads a message of a server process; undefined: it is not one. The code of procedures runs in the same process, and
 * whatever anybody writes to the channel arrives here.
 *
 * @param key the key that the process got with its order: a message without the key is somebody else's
 */
export function parseFromServer(message: unknown, key: string): FromServer | undefined {
  if (!isFields(message) || message.key !== key) return undefined;
  const { type, id } = message;
  switch (type) {
    case 'ready':
      return isReport(message.report) ? { type, report: message.report } : undefined;
    case 'failed':
      return isFailure(message.failure) ? { type, failure: message.failure } : undefined;
    case 'figures':
      return isFigures(message.figures) ? { type, figures: message.figures } : undefined;
    case 'drained':
      // The process has drained, even where its snapshot can't be read.
      return { type, snapshot: parseSnapshot(message.snapshot) };
    case 'reply':
      return isAmount(id) ? { type, id, value: message.value } : undefined;
    case 'collect-all':
      return isAmount(id) ? { type, id } : undefined;
    default:
      return undefined;
  }
}

/** Reads a message of the supervisor; undefined: it is not one. */
export function parseToServer(message: unknown): ToServer | undefined {
  if (!isFields(message)) return undefined;
  const { type, id } = message;
  switch (type) {
    case 'start': {
      const { key, order } = message;
      return typeof key === 'string' && isOrder(order) ? { type, key, order } : undefined;
    }
    case 'reload':
    case 'collect':
      return isAmount(id) ? { type, id } : undefined;
    case 'collection': {
      const snapshots = parseSnapshots(message.snapshots);
      return isAmount(id) && snapshots !== undefined ? { type, id, snapshots } : undefined;
    }
    default:
      return undefined;
  }
}

/** Reads the reply to a reload; undefined: the process has gone. */
export function parseOutcome(value: unknown): ReloadOutcome | undefined {
  if (value === undefined) return undefined;
  if (isFields(value)) {
    const { changed, error } = value;
    if (typeof changed === 'boolean') return { changed };
    if (typeof error === 'string') return { error };
  }
  return { error: 'the server process gave no answer that can be read' };
}

function isReport(value: unknown): value is ReadyReport {
  return (
    isFields(value) && typeof value.banner === 'string' && typeof value.sharesPort === 'boolean'
  );
}

function isFailure(value: unknown): value is StartFailure {
  if (!isFields(value)) return false;
  const { message, ...others } = value;
  const texts = [others.stack, others.code];
  return (
    typeof message === 'string' &&
    texts.every((text) => text === undefined || typeof text === 'string')
  );
}

function isFigures(value: unknown): value is Figures {
  return isFields(value) && isAmount(value.zombies) && isAmount(value.rssBytes);
}

/** Checks only that the configuration is an object: the supervisor itself has resolved it. */
function isOrder(value: unknown): value is StartOrder & Fields {
  if (!isFields(value)) return false;
  const { number, of, isFirst, modules, config, version } = value;
  return (
    isAmount(number) &&
    isAmount(of) &&
    typeof isFirst === 'boolean' &&
    Array.isArray(modules) &&
    modules.every((module) => typeof module === 'string') &&
    isFields(config) &&
    typeof version === 'string'
  );
}
