import { validate } from '@hyperjump/json-schema/openapi-3-1';
import { createConfig, lintFromString, type NormalizedProblem } from '@redocly/openapi-core';

/** Where the official schema of OpenAPI 3.1, with that of its JSON Schema dialect, refuses a document. */
export async function openApiFaults(document: unknown): Promise<string[]> {
  const output = await validate(
    'https://spec.openapis.org/oas/3.1/schema-base',
    document as never,
    'BASIC',
  );
  if (output.valid) return [];
  return (output.errors ?? []).map(
    ({ instanceLocation, absoluteKeywordLocation }) =>
      `${instanceLocation}: ${absoluteKeywordLocation}`,
  );
}

/**
 * What redocly's recommended rules say of a document, those aside that only the author of a service can follow, and that of
 * `4XX`: `default` stands for all errors that are not declared.
 */
export async function lintFindings(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended'],
    rules: {
      'info-license': 'off',
      'no-empty-servers': 'off',
      'tag-description': 'off',
      'operation-4xx-response': 'off',
    },
  });
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: 'openapi.json',
    config,
  });
  return problems.map(shown);
}

function shown({ ruleId, message, location }: NormalizedProblem): string {
  const [at] = location;
  return `${ruleId}: ${message} (${at?.pointer ?? ''})`;
}
