import type { AnyRouter } from '../../router/router-state.ts';
import { exampleValue } from './example-value.ts';

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Plausible arguments for the procedure's required parameters; undefined where none are accepted. */
function exampleParams(router: AnyRouter, method: string): Record<string, unknown> | undefined {
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
export function exampleCall(router: AnyRouter): ExampleCall | undefined {
  const asks = (method: string): boolean => asksWho(router, method);
  const names = router.list();
  return (
    callOfOne(
      router,
      names.filter((name) => !asks(name)),
    ) ?? callOfOne(router, names.filter(asks))
  );
}

/** Whether an `authorize` decides who may call, the procedure's own or that of a merge. */
export function asksWho(router: AnyRouter, method: string): boolean {
  return router.get(method)?.links.some(({ kind }) => kind === 'authorize') === true;
}

function callOfOne(router: AnyRouter, names: readonly string[]): ExampleCall | undefined {
  let plain: ExampleCall | undefined;
  for (const method of names) {
    const params = exampleParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    plain ??= { jsonrpc: '2.0', id: 1, method };
  }
  return plain;
}
