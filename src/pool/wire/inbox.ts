import type { LoadStage } from '../../modules/load-stage.ts';
import type { Files } from '../../modules/modules.ts';
import { type CallLine, maxLine } from '../../router/call-log.ts';
import type { Fault } from '../../router/fault.ts';
import {
  type FromReplica,
  type LoadedReplica,
  type Notice,
  type ResultMessage,
  wake,
} from './messages.ts';

/**
 * What a replica posted; undefined where the replica can't have posted it. Procedures run in the replica's thread:
 * what they replace or get hold of there must do no harm beyond the thread.
 */
export function parseMessage(message: unknown): FromReplica | undefined {
  if (message === wake) return wake;
  if (Array.isArray(message)) return isResult(message) ? message : undefined;
  if (typeof message !== 'object' || message === null) return undefined;
  return isNotice(message as Fields) ? (message as Notice) : undefined;
}

type Fields = { readonly [Name in string]?: unknown };

function isResult(message: readonly unknown[]): message is ResultMessage {
  const [ticket, code, micros, elapsedUs, reply] = message;
  return (
    message.length === 5 &&
    Number.isSafeInteger(ticket) &&
    Number.isSafeInteger(code) &&
    typeof micros === 'number' &&
    typeof elapsedUs === 'number' &&
    (typeof reply === 'string' || reply instanceof Uint8Array)
  );
}

function isNotice(notice: Fields): boolean {
  switch (notice.type) {
    case 'stage':
      return isStage(notice.stage);
    case 'ready':
      return (
        Number.isSafeInteger(notice.threadId) &&
        Number.isSafeInteger(notice.nice) &&
        isLoaded(notice.loaded)
      );
    case 'failed':
      return isText(notice.message) && isTextOrNone(notice.stack);
    case 'idle':
      return Number.isSafeInteger(notice.lastTicket);
    case 'retired':
      return true;
    case 'memory':
      return Number.isSafeInteger(notice.bytes);
    case 'aborted':
      return Number.isSafeInteger(notice.ticket);
    case 'fault':
      return isFault(notice.fault);
    case 'line':
      return isLine(notice.line);
    case 'uncaught':
      return isText(notice.detail) && isText(notice.line);
    default:
      return false;
  }
}

function isStage(stage: unknown): stage is LoadStage {
  if (typeof stage !== 'object' || stage === null) return false;
  const { step, module } = stage as Fields;
  return (step === 'import' || step === 'setup') && isText(module);
}

function isLoaded(loaded: unknown): loaded is LoadedReplica {
  if (typeof loaded !== 'object' || loaded === null) return false;
  const { fingerprint, files } = loaded as Fields;
  return isText(fingerprint) && (files === undefined || isFiles(files));
}

function isFiles(files: unknown): files is Files {
  if (!(files instanceof Map)) return false;
  return [...files].every(([path, hash]) => isText(path) && isText(hash));
}

function isFault(fault: unknown): fault is Fault {
  if (typeof fault !== 'object' || fault === null) return false;
  const { ref, method, detail, exit } = fault as Fields;
  return isText(ref) && isText(method) && isText(detail) && isTextOrNone(exit);
}

function isLine(line: unknown): line is CallLine {
  if (typeof line !== 'object' || line === null) return false;
  const { level, method, id, fields, text } = line as Fields;
  return (
    (level === 'debug' || level === 'info' || level === 'warn' || level === 'error') &&
    isText(method) &&
    isTextOrNone(id) &&
    isText(fields) &&
    fields.length <= maxLine &&
    isText(text) &&
    text.length <= maxLine
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || isText(value);
}
