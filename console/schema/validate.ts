import { type OutputUnit, Validator } from '@cfworker/json-schema';
import type { JsonSchema } from './resolve.ts';

/** What is wrong with params, by JSON Pointer: the server's words where it has refused them. */
export type Faults = ReadonlyMap<string, string>;

/** Keywords that only say that something below them is wrong. */
const summaries = new Set([
  'properties',
  'items',
  'prefixItems',
  'additionalItems',
  'allOf',
  '$ref',
  '$dynamicRef',
  'patternProperties',
]);

/** Finds what the server would refuse. Where a schema can't be read here, nothing is found: the server has the last word. */
export function validate(schema: JsonSchema, value: unknown): Faults {
  try {
    // Interpreted: the policy of the page forbids code that is made of text.
    const { errors } = new Validator(schema, '7', false).validate(value);
    return toFaults(errors);
  } catch {
    return new Map();
  }
}

function toFaults(errors: readonly OutputUnit[]): Faults {
  const faults = new Map<string, string>();
  const alternatives = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  for (const { keyword, error, instanceLocation } of errors) {
    if (summaries.has(keyword) || keyword === 'false') continue;
    const at = instanceLocation.replace(/^#/, '').split('/').map(decodeURIComponent).join('/');
    const isBelowChoice = alternatives.some(
      (choice) => choice.keyword !== keyword && at.startsWith(choice.instanceLocation.slice(1)),
    );
    if (isBelowChoice) continue;
    const missing = keyword === 'required' ? /"(.*)"/.exec(error)?.[1] : undefined;
    const path = missing === undefined ? at : `${at}/${missing}`;
    if (!faults.has(path))
      faults.set(path, missing === undefined ? wordsOf(keyword, error) : 'is required');
  }
  return faults;
}

function wordsOf(keyword: string, error: string): string {
  if (keyword === 'type')
    return `must be ${/Expected "(.+)"/.exec(error)?.[1] ?? 'of another type'}`;
  if (keyword === 'anyOf' || keyword === 'oneOf') return 'fits none of the forms that are allowed';
  return error.replace(/^Instance/, 'the value').replace(/\.$/, '');
}

/** The faults that a -32602 of the server names. */
export function faultsOf(data: unknown): Faults {
  const faults = new Map<string, string>();
  for (const one of Array.isArray(data) ? (data as unknown[]) : []) {
    const { path, message } = (one ?? {}) as { path?: unknown; message?: unknown };
    if (typeof path === 'string' && typeof message === 'string') faults.set(path, message);
  }
  return faults;
}
