import { accepted } from './accepted.ts';
import { fileOf, type JsonCase } from './case.ts';
import { decided } from './decided.ts';
import { rejected } from './rejected.ts';

/** The corpus as it is made; scripts/json-corpus.ts writes it to test/fixtures/json. */
export const corpus: readonly JsonCase[] = [...accepted, ...rejected, ...decided];

/** Where the files are, relative to the project. */
export const corpusFolder = 'test/fixtures/json';

export function filesOf(cases: readonly JsonCase[]): Map<string, Buffer> {
  return new Map(cases.map((one) => [fileOf(one), one.bytes]));
}
