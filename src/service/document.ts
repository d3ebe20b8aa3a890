import { createHash } from 'node:crypto';
import type { Document } from '../dispatch/service.ts';

/** JSON text as a document, its version a hash of the text. */
export function documentOf(text: string): Document {
  const version = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { bytes: Buffer.from(text), version };
}
