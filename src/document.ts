import { createHash } from 'node:crypto';
import type { Document } from './dispatch/service.ts';

/** A value as a document: serialised once, named by a hash of what it says. */
export function documentOf(value: unknown): Document {
  const text = JSON.stringify(value);
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { text, etag: `"${hash}"` };
}
