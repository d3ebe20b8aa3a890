import { createHash } from 'node:crypto';
import type { Document } from '../dispatch/service.ts';

/** JSON text as a document, named by a hash of what it says. */
export function documentOf(text: string): Document {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { bytes: Buffer.from(text), etag: `"${hash}"` };
}
