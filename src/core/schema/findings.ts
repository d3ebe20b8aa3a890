import { shortened } from '../base/text.ts';

/** One difference that a caller may notice. */
export interface Finding {
  /** `breaking`: some caller of the old contract fails; `unknown`: the comparison can't tell. */
  readonly kind: 'breaking' | 'unknown';
  /** Where: `params.order.items[].quantity`; '' for the procedure itself. */
  readonly path: string;
  /** What has changed, in words that follow the path. */
  readonly reason: string;
  /** The finding stands for so many others. */
  readonly leftOut?: number;
}

export function breaking(path: string, reason: string): Finding {
  return { kind: 'breaking', path, reason };
}

export function unknown(path: string, reason: string): Finding {
  return { kind: 'unknown', path, reason };
}

/** The path of a member: `.name`, or `["a name"]` if the name is no identifier. */
export function memberPath(path: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${path}.${name}`
    : `${path}[${JSON.stringify(name)}]`;
}

/** Most findings that are kept of two schemas. */
const maxFindings = 500;

/** @param by what may rule out the values that the findings are about; undefined: nothing */
export function asUnknown(
  findings: readonly Finding[],
  by: string | undefined,
): readonly Finding[] {
  if (by === undefined) return findings;
  return findings.map((one) =>
    one.kind === 'unknown'
      ? one
      : { ...one, kind: 'unknown', reason: `${one.reason}, unless ${by} rules that out` },
  );
}

/** Each finding once, and the number of those beyond the first ones. */
export function limited(all: readonly Finding[]): readonly Finding[] {
  const unique = [...new Map(all.map((one) => [`${one.path} ${one.reason}`, one])).values()];
  const told = unique.filter(({ leftOut }) => leftOut === undefined);
  if (told.length <= maxFindings) return unique;
  const others = [
    ...unique.filter((one) => one.leftOut !== undefined),
    ...told.splice(maxFindings),
  ];
  const leftOut = others.reduce((sum, one) => sum + (one.leftOut ?? 1), 0);
  const { kind = 'unknown' } = others.find((one) => one.kind === 'breaking') ?? {};
  return [...told, { kind, path: '', reason: `${leftOut} more differences are left out`, leftOut }];
}

const maxValueLength = 60;

/** A value of a schema in a message. */
export function shownValue(value: unknown): string {
  return shortened(JSON.stringify(value) ?? String(value), maxValueLength, '...');
}
