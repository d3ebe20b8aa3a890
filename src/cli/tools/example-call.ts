import type { Router } from '../../router/router.ts';
import { exampleValue } from './example-value.ts';

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Plausible arguments of the procedure's required parameters, undefined when none are found. */
function exampleParams(router: Router, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const required = procedure?.params?.required ?? [];
  const entries = Object.entries(procedure?.params?.properties ?? {})
    .filter(([name]) => required.includes(name))
    .map(([name, schema], index) => [name, exampleValue(schema, name, index)]);
  const params: Record<string, unknown> = Object.fromEntries(entries);
  try {
    // The procedure's own validation decides: a line that is printed works as pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

/** A call that `router` accepts: the first with arguments, else one without; undefined: found none. */
export function exampleCall(router: Router): ExampleCall | undefined {
  let plain: ExampleCall | undefined;
  for (const method of router.list()) {
    const params = exampleParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    plain ??= { jsonrpc: '2.0', id: 1, method };
  }
  return plain;
}
