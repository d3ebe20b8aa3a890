import { createHash } from 'node:crypto';
import { openRpcText } from '../dispatch/discover.ts';
import type { Document, DocumentFormat } from '../dispatch/service.ts';
import { getRegistrySchema } from '../router/document/introspect.ts';
import { tableOf, versionOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';

interface CachedDocument {
  readonly router: AnyRouter;
  readonly version: number;
  readonly document: Document;
}

/** The documents that describe a service's procedures, each serialised once for each state of its router. */
export class Documents {
  readonly #cached = new Map<DocumentFormat, CachedDocument>();

  of(router: AnyRouter, format: DocumentFormat): Document {
    const version = versionOf(router);
    let cached = this.#cached.get(format);
    if (cached?.router !== router || cached.version !== version) {
      cached = { router, version, document: documentOf(textOf(router, format)) };
      this.#cached.set(format, cached);
    }
    return cached.document;
  }
}

function textOf(router: AnyRouter, format: DocumentFormat): string {
  return format === 'openrpc'
    ? openRpcText(tableOf(router))
    : JSON.stringify(getRegistrySchema(router));
}

/** JSON text as a document. The document's version is a hash of the text. */
function documentOf(text: string): Document {
  const version = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { bytes: Buffer.from(text), version };
}
