import { isUtf8 } from 'node:buffer';
import { type Body, largeBatch, type ReadLimits, unreadableBody } from './body.ts';
import { readableBytes, readableText, readExactly } from './exact/read-exactly.ts';
import { scanBatch } from './quick/scan-batch.ts';

/** A byte order mark is no JSON: it stays in the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes, undefined where they are not UTF-8: never a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // One crossing into C++, where a check and Buffer's toString are two: a third of the time for small ones.
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Reads a whole body: all of it is known to be JSON before any of it may run. The exact reader stands
 * behind the quick ones of scan.ts and scan-batch.ts, and is the only one for whatever is refused.
 */
export function readBody(text: string, limits: ReadLimits): Body {
  // The quick reader parses the params of all calls at once: those of a large body are parsed where they run.
  const entries = text.length <= largeBatch ? scanBatch(text, limits) : undefined;
  if (entries !== undefined) return { kind: 'batch', entries };
  return readExactly(readableText(text), limits);
}

/** The same for UTF-8 bytes, read as they are: to make a text of many takes longer than to read them. */
export function readBytes(bytes: Uint8Array, limits: ReadLimits): Body {
  return isUtf8(bytes) ? readExactly(readableBytes(bytes), limits) : unreadableBody();
}
