import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';

// CommonJS and JSON, whose types do not fit an ES module's default import.
const require = createRequire(import.meta.url);
const { Ajv } = require('ajv') as { Ajv: typeof AjvClass };
const openRpc = require('@open-rpc/spec/1_4/schema.json') as object;
const older13 = require('@open-rpc/spec/1_3/schema.json') as object;
const { jsonSchema } = require('@json-schema-tools/meta-schema') as { jsonSchema: object };

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
// Both name each other as their $schema: they are read as JSON Schema draft 7, which they are written in.
const withoutDialect = (schema: object): object => ({ ...schema, $schema: undefined });
// The specification's schema refers to it without the slash at the end of its $id.
ajv.addSchema(withoutDialect(jsonSchema), 'https://meta.json-schema.tools');
const validatorOf = (schema: object) => ajv.compile(withoutDialect(schema));
// Both have one $id.
const older = validatorOf({ ...older13, $id: 'https://meta.open-rpc.org/1.3' });
const current = validatorOf(openRpc);

/**
 * What the schema of its version of OpenRPC has against a document, one line each. A version before 1.4 is held to the
 * schema of 1.3, which lists them all.
 */
export function openRpcFaults(document: unknown): string[] {
  const { openrpc } = document as { readonly openrpc?: unknown };
  const validate = /^1\.[0-3]\./.test(String(openrpc)) ? older : current;
  if (validate(document)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
