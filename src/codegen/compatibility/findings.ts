/** One difference that a caller may notice. */
export interface Finding {
  /** `breaking`: some caller of the old contract fails; `unknown`: the comparison can't tell. */
  readonly kind: 'breaking' | 'unknown';
  /** Where: `params.order.items[].quantity`; '' for the procedure itself. */
  readonly path: string;
  /** What has changed, in words that follow the path. */
  readonly reason: string;
}

/** `params`: the old values must go on being taken; `result`: the new values must be ones that the old contract names. */
export type Direction = 'params' | 'result';

export function breaking(path: string, reason: string): Finding {
  return { kind: 'breaking', path, reason };
}

export function unknown(path: string, reason: string): Finding {
  return { kind: 'unknown', path, reason };
}

/** The path of a member: `.name`, or `["a name"]` where the name is no identifier. */
export function memberPath(path: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${path}.${name}`
    : `${path}[${JSON.stringify(name)}]`;
}

const longestValue = 60;

/** A value of a schema in a message. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}...` : text;
}
