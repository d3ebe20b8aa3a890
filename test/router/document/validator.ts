import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';

// CommonJS and JSON, whose types do not fit an ES module's default import.
const require = createRequire(import.meta.url);
const { Ajv } = require('ajv') as { Ajv: typeof AjvClass };
const openRpc = require('@open-rpc/spec/1_4/schema.json') as object;
const { jsonSchema } = require('@json-schema-tools/meta-schema') as { jsonSchema: object };

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
// Both name each other as their $schema: they are read as JSON Schema draft 7, which they are written in.
const withoutDialect = (schema: object): object => ({ ...schema, $schema: undefined });
// The specification's schema refers to it without the slash at the end of its $id.
ajv.addSchema(withoutDialect(jsonSchema), 'https://meta.json-schema.tools');
const validate = ajv.compile(withoutDialect(openRpc));

/** What the schema of OpenRPC 1.4 has against a document, one line each. */
export function openRpcFaults(document: unknown): string[] {
  if (validate(document)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
