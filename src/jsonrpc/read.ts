import { isUtf8 } from 'node:buffer';
import { type Body, largeBatch, type ReadLimits, unreadableBody } from './body.ts';
import { readableBytes, readableText, readExactly } from './exact/read-exactly.ts';
import { scanBatch } from './quick/scan-batch.ts';

/**
 * Who reads a body, and why:
 *
 *     reader                    reads                        called by              why it exists
 *     quick/scan                one call, params untouched   the kernel             the usual body: no parse at all,
 *                                                                                   a large one through two windows
 *     quick/scan-batch          a batch of plain requests    readBody               one JSON.parse for all params
 *       quick/scan-request      one request of that batch    scan-batch
 *     exact/read-exactly        any body, text or bytes      readBody, readBytes    decides everything that the quick
 *                                                                                   readers leave, and every refusal
 *     read-value                a parsed payload             the kernel             a caller within the program
 *
 * A quick reader returns undefined for whatever is unusual. So only the exact reader decides which error a caller gets.
 */

/** A byte order mark is not JSON: the decoder keeps it in the text, and the readers refuse it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes; undefined where they are not UTF-8, instead of a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // One crossing into C++. A check and Buffer's toString would be two, and take three times as long for small bodies.
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads a whole body: no call of it runs before all of it is known to be JSON. */
export function readBody(text: string, limits: ReadLimits): Body {
  // The quick reader parses the params of all calls here. The params of a large batch are parsed where each call runs.
  const entries = text.length <= largeBatch ? scanBatch(text, limits) : undefined;
  if (entries !== undefined) return { kind: 'batch', entries };
  return readExactly(readableText(text), limits);
}

/** Reads a whole body from its UTF-8 bytes: decoding a large body into a text takes longer than reading its bytes. */
export function readBytes(bytes: Uint8Array, limits: ReadLimits): Body {
  return isUtf8(bytes) ? readExactly(readableBytes(bytes), limits) : unreadableBody();
}
