import type { Procedure } from '../../src/core/procedures/types.ts';
import {
  type DocumentFacts,
  type OpenApiDocument,
  openApiOf,
} from '../../src/extras/openapi/document.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';

export const facts: DocumentFacts = {
  httpPath: '/api',
  title: 'hard',
  httpAuth: 'bearer',
  publicUrl: '',
  hasAuth: false,
};

/** As it is sent: what JSON drops is not part of it. */
export function documentOf(
  table: ReadonlyMap<string, Procedure>,
  given: Partial<DocumentFacts> = {},
): OpenApiDocument {
  const all = { ...facts, ...given };
  const operations = new Operations(table, [], all.hasAuth);
  return JSON.parse(JSON.stringify(openApiOf(operations, all))) as OpenApiDocument;
}
