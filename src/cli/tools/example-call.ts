import type { Router } from '../../router/router.ts';
import { exampleValue } from './example-value.ts';

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Plausible arguments for the procedure's required parameters; undefined where none are accepted. */
function exampleParams(router: Router, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const required = procedure?.params?.required ?? [];
  const entries = Object.entries(procedure?.params?.properties ?? {})
    .filter(([name]) => required.includes(name))
    .map(([name, schema], index) => [name, exampleValue(schema, name, index)]);
  const params: Record<string, unknown> = Object.fromEntries(entries);
  try {
    // Arguments that pass the procedure's own validation make a line that works when it is pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

/**
 * A call that `router` accepts: the first procedure whose example has arguments, else one without arguments;
 * procedures without an `authorize` first.
 *
 * @returns undefined where no call was found
 */
export function exampleCall(router: Router): ExampleCall | undefined {
  const asks = (method: string): boolean => router.get(method)?.authorize !== undefined;
  const names = router.list();
  return (
    callOfOne(
      router,
      names.filter((name) => !asks(name)),
    ) ?? callOfOne(router, names.filter(asks))
  );
}

function callOfOne(router: Router, names: readonly string[]): ExampleCall | undefined {
  let plain: ExampleCall | undefined;
  for (const method of names) {
    const params = exampleParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    plain ??= { jsonrpc: '2.0', id: 1, method };
  }
  return plain;
}
