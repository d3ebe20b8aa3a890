import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { assertDepth, CodegenError, isOpenRpc } from '../../client/codegen/document.ts';
import { RegistrationError } from '../../core/base/registration-error.ts';
import { StartupError } from '../../core/base/startup-error.ts';

import { fetchDocument, isOpenApi, isRegistry, type RemoteOptions } from './remote.ts';

/** What describes the procedures: a server, a file that holds a document, or the module itself. */
export type SourceKind = 'url' | 'document' | 'module';

export function kindOf(source: string): SourceKind {
  if (/^https?:\/\//i.test(source)) {
    if (!URL.canParse(source)) throw new StartupError(`${source} is no valid URL`);
    return 'url';
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(source) && !source.startsWith('file:')) {
    throw new StartupError(`${source}: only http and https URLs are read`);
  }
  return source === '-' || source.endsWith('.json') ? 'document' : 'module';
}

/**
 * The OpenRPC document of a source of any kind.
 *
 * @throws StartupError
 */
export async function readOpenRpc(source: string, options: RemoteOptions): Promise<unknown> {
  switch (kindOf(source)) {
    case 'url': {
      const document = await fetchDocument(source, 'openrpc', options);
      return toOpenRpc(document?.value, source);
    }
    case 'document':
      return toOpenRpc(await readJson(source), source);
    case 'module': {
      // Loaded on demand, as is what turns an introspection document into OpenRPC: together they are most of the
      // start-up time.
      const { describeModule } = await import('./module-source.ts');
      return (await describeModule(source, 'openrpc')).document;
    }
  }
}

/**
 * An OpenRPC document as it is; an introspection document turned into one.
 *
 * @throws StartupError
 */
export async function toOpenRpc(document: unknown, source: string): Promise<unknown> {
  if (isOpenRpc(document)) return document;
  const { openRpcOfRegistry } = await import('../../core/procedures/document/openrpc.ts');
  return explained(source, () => {
    assertDepth(document);
    if (isRegistry(document)) return openRpcOfRegistry(document);
    throw new CodegenError(
      isOpenApi(document)
        ? 'an OpenAPI document: use the OpenRPC document of the service (tandem schema <url> --openrpc), or a generator for OpenAPI'
        : 'neither an OpenRPC document nor an introspection document',
    );
  });
}

/** @throws StartupError with the source's name, instead of what the document's reader throws */
export function explained<Result>(source: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const isOfDocument = [CodegenError, RangeError, RegistrationError].some(
      (kind) => error instanceof kind,
    );
    if (!(error instanceof Error && isOfDocument)) throw error;
    // The engine's own message is about its stack, not about the document.
    const why = /call stack/.test(error.message) ? 'the document nests too deep' : error.message;
    throw new StartupError(`${source}: ${why}`, { cause: error });
  }
}

async function readJson(source: string): Promise<unknown> {
  const content = source === '-' ? await text(process.stdin) : await readFile(source, 'utf8');
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw new StartupError(`${source} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
