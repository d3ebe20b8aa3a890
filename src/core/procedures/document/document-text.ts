import { createHash, type Hash } from 'node:crypto';
import { inSlices, type Steps } from '../../base/timer.ts';
import { isObject } from '../../base/value-kinds.ts';

/** A document that is serialised once per registry. */
export interface Document {
  readonly bytes: Uint8Array;
  /** Names these bytes: 22 letters, digits, `-` and `_`, others for other bytes. */
  readonly version: string;
}

/** Levels of a document at whose end one step writes the rest: there stands one procedure, or one schema. */
const levels = 3;

/** The document as it is sent, made in slices, between which calls run. Its version is a hash of its bytes. */
export function makeDocument(content: Steps<object>): Promise<Document> {
  return inSlices(documentSteps(content));
}

function* documentSteps(steps: Steps<object>): Steps<Document> {
  const content = yield* steps;
  const parts: Uint8Array[] = [];
  const hash = createHash('sha256');
  for (const text of piecesOf(content, levels)) {
    const part = Buffer.from(text);
    hash.update(part);
    parts.push(part);
    yield;
  }
  return { bytes: Buffer.concat(parts), version: hash.digest('base64url').slice(0, 22) };
}

/** A registry has no version number, so its version is a hash: it changes exactly when the content changes. */
export function* versionSteps(content: object): Steps<string> {
  const hash: Hash = createHash('sha256');
  for (const text of piecesOf(content, levels)) {
    hash.update(text);
    yield;
  }
  return hash.digest('hex').slice(0, 12);
}

/** What JSON.stringify would write of a value without `toJSON`, in pieces. */
function* piecesOf(value: unknown, depth: number): Generator<string, void, undefined> {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value);
    return;
  }
  let separator = '';
  if (!isObject(value)) {
    yield '[';
    for (const item of value as readonly unknown[]) {
      if (separator !== '') yield separator;
      separator = ',';
      yield* piecesOf(item ?? null, depth - 1);
    }
    yield ']';
    return;
  }
  yield '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    yield* piecesOf(member, depth - 1);
  }
  yield '}';
}
