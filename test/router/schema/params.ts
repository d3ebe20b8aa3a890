import assert from 'node:assert/strict';
import { type ParamIssue, type Procedure, procedure, RpcError } from '../../../src/index.ts';
import { isRefused } from '../run.ts';

type Options = Parameters<typeof procedure>[0];

/** A procedure with this schema of params. */
export function build(params: unknown, options: Options = {}): Procedure {
  return procedure({ name: 'p', ...options, params: params as Options['params'] }, () => 1);
}

export function bind(params: unknown, given: unknown): Record<string, unknown> {
  return build(params).bindParams(given);
}

/** Why params are refused; empty: they are accepted. */
export function issuesOf({ bindParams }: Procedure, given: unknown): readonly ParamIssue[] {
  try {
    bindParams(given);
    return [];
  } catch (error) {
    assert.ok(error instanceof RpcError, String(error));
    assert.deepEqual([error.code, error.message], [-32602, 'Invalid params']);
    return error.data as ParamIssue[];
  }
}

/** Why params are refused, which they must be. */
export function issues(params: unknown, given: unknown): readonly ParamIssue[] {
  const found = issuesOf(build(params), given);
  assert.ok(found.length > 0, 'not refused');
  return found;
}

/** Registration refuses these options. */
export function refuses(options: object, message: RegExp): void {
  const make = (): unknown => procedure({ name: 'p', ...options }, () => 1 as never);
  isRefused(make, /^procedure "p": /);
  isRefused(make, message);
}
