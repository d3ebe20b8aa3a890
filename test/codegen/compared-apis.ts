import { type Compatibility, compareApis } from '../../src/client/codegen/compare-apis.ts';
import { readDocument } from '../../src/client/codegen/document.ts';

/** What `tandem diff` says of two documents, one line for each finding. */
export function told({ findings }: Compatibility): string[] {
  return findings.map(({ kind, method, path, reason }) =>
    [kind === 'unknown' ? '?' : '!', method, path, reason].filter((part) => part !== '').join(' '),
  );
}

export function compareMethods(
  before: readonly object[],
  after: readonly object[],
  components: { readonly old?: object; readonly new?: object } = {},
): Compatibility {
  const read = (methods: readonly object[], schemas: object = {}) =>
    readDocument({ openrpc: '1.4.1', methods, components: { schemas } });
  return compareApis(read(before, components.old), read(after, components.new));
}

/** Compares two schemas of one required param `p`. */
export function compareParams(
  before: unknown,
  after: unknown,
  components: { readonly old?: object; readonly new?: object } = {},
): string[] {
  const method = (schema: unknown) => ({
    name: 'm',
    params: [{ name: 'p', required: true, schema }],
  });
  const lines = told(compareMethods([method(before)], [method(after)], components));
  return lines.map((line) => line.replace(/ m params\.p ?/, ' '));
}

/** Compares two schemas of the result. */
export function compareResults(before: unknown, after: unknown): string[] {
  const method = (schema: unknown) => ({ name: 'm', params: [], result: { name: 'r', schema } });
  return told(compareMethods([method(before)], [method(after)])).map((line) =>
    line.replace(/ m result ?/, ' '),
  );
}
