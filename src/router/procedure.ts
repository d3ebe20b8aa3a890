import type { TObject, TSchema } from '@sinclair/typebox';
import { compileErrors, type ErrorDeclarations } from './declared-errors.ts';
import { ignoresContext } from './ignores-context.ts';
import { assertHandler, assertOptions, isAsyncFunction } from './procedure-options.ts';
import { type CompiledParams, compileParams, compileReturns } from './schema/schema.ts';
import type {
  Handler,
  ParamsOf,
  Procedure,
  ProcedureEntry,
  ProcedureOptions,
  ResultOf,
} from './types.ts';

/**
 * Compiles a procedure without registering it: `router.register(name, procedure({...}, handler))`.
 *
 * @param options declare the procedure; the types of `params`, `returns` and `errors` constrain the handler
 * @throws RegistrationError for an option or a schema that can't work
 */
export function procedure<
  Params extends TObject | undefined = undefined,
  Returns extends TSchema | undefined = undefined,
  State = unknown,
  const Errors extends ErrorDeclarations = Record<never, never>,
>(
  options: ProcedureOptions<Params, Returns, Errors, State>,
  handler: Handler<ParamsOf<Params>, ResultOf<Returns>, State, Errors>,
): Procedure<ProcedureEntry<Params, Returns, Errors>> {
  // A table of procedures can't name the types of params and state: bindParams checks the params, the module makes the state.
  const erased = handler as unknown as Handler;
  const where = `procedure ${JSON.stringify(nameOf(options, handler))}`;
  // The entry exists only in the type.
  return buildProcedure(compileOptions(options, where), erased, where) as Procedure<
    ProcedureEntry<Params, Returns, Errors>
  >;
}

/** Everything about a procedure that does not need its handler. A decorator compiles it once for all instances. */
export interface CompiledOptions {
  readonly options: ProcedureOptions;
  readonly params: CompiledParams;
  readonly result: Procedure['result'];
  readonly errors: Procedure['errors'];
}

/** @throws RegistrationError */
export function compileOptions(options: unknown, where: string): CompiledOptions {
  assertOptions(options, where);
  return {
    options,
    params: compileParams(options.params, where),
    result: compileReturns(options.returns, where),
    errors: compileErrors(options.errors, where),
  };
}

/** @throws RegistrationError */
export function buildProcedure(
  { options, params, result, errors }: CompiledOptions,
  handler: Handler,
  where: string,
): Procedure {
  assertHandler(handler, where);
  return Object.freeze({
    name: nameOf(options, handler),
    handler,
    authorize: options.authorize,
    params: params.schema,
    returns: options.returns,
    errors,
    doc: options.doc ?? null,
    isAsync: options.async === true || isAsyncFunction(handler),
    ignoresContext: options.authorize === undefined && ignoresContext(handler),
    placement: options.placement ?? 'auto',
    timeoutMs: options.timeoutMs,
    maxConcurrency: options.maxConcurrency,
    bindParams: params.bindParams,
    result,
    moduleState: undefined,
  });
}

/** The procedure under another name; both share their compiled parts. */
export function renamed(proc: Procedure, name: string): Procedure {
  return proc.name === name ? proc : Object.freeze({ ...proc, name });
}

/** Also recognises procedures of another copy of this package. */
export function isProcedure(value: unknown): value is Procedure {
  if (typeof value !== 'object' || value === null) return false;
  const { handler, bindParams, placement } = value as Partial<Record<keyof Procedure, unknown>>;
  return (
    typeof handler === 'function' &&
    typeof bindParams === 'function' &&
    typeof placement === 'string'
  );
}

/** The procedure's name, from whatever was passed: it also begins the message about invalid options. */
function nameOf(options: unknown, handler: unknown): string {
  const given = (options as { name?: unknown } | null | undefined)?.name;
  if (typeof given === 'string') return given;
  return typeof handler === 'function' ? handler.name : '';
}
