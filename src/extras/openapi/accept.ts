import { elementsFromEnd } from '../../server/http/edge/peer.ts';
import { isJsonContentType } from '../../server/http/edge/request-checks.ts';
import { eventStreamType } from '../../server/http/edge/request-head.ts';
import type { BytesParam } from './operation.ts';

export const jsonType = 'application/json';
export const octetsType = 'application/octet-stream';

const problemType = 'application/problem+json';

/** A media range of an Accept (RFC 9110, 12.5.1). */
interface Range {
  /** In lower case: `image/png`, `image/*`, the range of all types. */
  readonly type: string;
  /** 0: not accepted. */
  readonly weight: number;
}

/**
 * The type that a client likes best of those that there are; of equals the first.
 *
 * @returns undefined: it accepts none of them
 */
export function preferredType(
  accept: string | undefined,
  offered: readonly string[],
): string | undefined {
  const ranges = rangesOf(accept);
  let best: string | undefined;
  let most = 0;
  for (const type of offered) {
    const weight = weightOf(type, ranges);
    if (weight <= most) continue;
    best = type;
    most = weight;
  }
  return best;
}

/**
 * Whether a client takes events by what it says, or by saying nothing: a URL that answers by a stream has no other answer,
 * and curl and generated clients name no type.
 */
export function takesEvents(accept: string | undefined): boolean {
  return preferredType(accept, [eventStreamType]) !== undefined;
}

const anything: readonly Range[] = [{ type: '*/*', weight: 1 }];

function rangesOf(accept: string | undefined): readonly Range[] {
  if (accept === undefined || accept.trim() === '') return anything;
  const ranges: Range[] = [];
  for (const element of elementsFromEnd(accept, ',')) {
    // A quote that does not close: what stands before it is not read, and nothing is refused for it.
    if (element === undefined) return anything;
    if (element.trim() !== '') ranges.push(rangeOf(element.toLowerCase()));
  }
  // The type of errors alone says nothing of results: openapi-generator (Java) leaves out all types that are not JSON.
  return ranges.every(({ type }) => type === problemType) ? anything : ranges;
}

/** @param element in lower case */
function rangeOf(element: string): Range {
  let type = '';
  let weight = 1;
  // From the end: what stands before the weight are parameters of the type, and no type here has any that counts.
  for (const part of elementsFromEnd(element, ';')) {
    type = part?.trim() ?? '';
    if (type.startsWith('q=')) weight = Number(type.slice('q='.length));
  }
  // What is no number counts as if nothing were said.
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 1 };
}

/** The weight that the most specific range gives a type. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const family = `${type.slice(0, type.indexOf('/'))}/*`;
  for (const name of [type, family, '*/*']) {
    const weights = ranges.filter((range) => range.type === name).map(({ weight }) => weight);
    if (weights.length > 0) return Math.max(...weights);
  }
  return 0;
}

const token = "[!#$%&'*+.^_`|~\\w-]+";
const mediaType = new RegExp(`^(${token}/${token})[ \\t]*(?:;|$)`);

/** The type of a Content-Type, in lower case and without its parameters; undefined: it is none, or there are two. */
export function mediaTypeOf(contentType: string): string | undefined {
  // Two headers are joined by a comma.
  if (contentType.includes(',')) return undefined;
  return mediaType.exec(contentType)?.[1]?.toLowerCase();
}

/** A declared media type as it may stand in a header: one type, perhaps with parameters; undefined: a range, or no type. */
export function headerType(declared: string | undefined): string | undefined {
  const isSafe = declared !== undefined && /^[\x20-\x7e]*$/.test(declared);
  return isSafe && !declared.includes('*') && mediaTypeOf(declared) !== undefined
    ? declared
    : undefined;
}

/** Types that a page of any origin may send without a preflight (https://fetch.spec.whatwg.org, "CORS-safelisted"). */
export const formTypes: readonly string[] = [
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
];

/** What a body is by its type: the params as JSON, or the bytes of a param; undefined: it is not taken. */
export type BodyKind = 'json' | 'bytes' | undefined;

/** @param bytesParam of the operation; undefined: it has none */
export function bodyKindOf(contentType: string, bytesParam: BytesParam | undefined): BodyKind {
  if (contentType === jsonType) return 'json';
  const type = mediaTypeOf(contentType);
  if (type === undefined) return undefined;
  if (type === jsonType) return isJsonContentType(contentType) ? 'json' : undefined;
  return bytesParam !== undefined && takesBytes(bytesParam.mediaType, type) ? 'bytes' : undefined;
}

/** What a POST may have as its body, as the header Accept-Post. */
export function acceptPost(bytesParam: BytesParam | undefined): string {
  if (bytesParam === undefined) return jsonType;
  const { mediaType: declared = '*/*' } = bytesParam;
  const range = takesBytes(declared, mediaTypeOf(declared) ?? '') ? [declared] : [];
  return [...new Set([jsonType, octetsType, ...range])].join(', ');
}

/**
 * Whether a param of bytes may come in a body of this type.
 *
 * @param range of the param: a type, `image/*`; undefined: any type
 */
function takesBytes(range: string | undefined, type: string): boolean {
  if (formTypes.includes(type)) return false;
  if (type === octetsType || range === undefined || range === '*/*') return true;
  const wanted = mediaTypeOf(range);
  return wanted?.endsWith('/*') === true ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}
