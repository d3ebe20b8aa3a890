import { assertCallable, isAsyncFunction, theHandler } from './callable.ts';
import { compileErrors, type ErrorDeclarations } from './declared-errors.ts';
import { compileEffects, type Effects } from './effects.ts';
import type { Env, HandlerContext, StateOf } from './env.ts';
import { ignoresContext } from './ignores-context.ts';
import { behind, distinct, frontOf, linksOf } from './middleware/link.ts';
import type { Link, Middleware } from './middleware/middleware.ts';
import { assertOptions } from './procedure-options.ts';
import {
  type CompiledParams,
  type CompiledReturns,
  compileParams,
  compileReturns,
} from './schema/schema.ts';
import type { ParamsSchema } from './schema/shape.ts';
import type { ParamsOf, ResultSchema } from './schema/sides.ts';
import { type CompiledYields, compileYields, streamRules } from './stream/stream-rules.ts';
import { toolContent } from './tool-content.ts';
import type {
  EntryFor,
  Handler,
  Procedure,
  ProcedureOptions,
  Returned,
  StreamOptions,
} from './types.ts';

/** Makes procedures whose handlers rely on the environment `E`. */
export type MakeProcedure<E extends Env = Env> = <
  Params extends ParamsSchema | undefined = undefined,
  Returns extends ResultSchema | undefined = undefined,
  State = StateOf<E>,
  const Errors extends ErrorDeclarations = Record<never, never>,
  Xs extends readonly object[] = readonly object[],
  Yields extends ResultSchema | undefined = undefined,
  Stream extends true | StreamOptions | undefined = undefined,
  const Does extends Effects | undefined = undefined,
  Tool extends false | 'content' | undefined = undefined,
  Out = unknown,
  Value = unknown,
  End = unknown,
>(
  options: ProcedureOptions<Params, Returns, Errors, State, E, Xs, Yields, Stream, Does, Tool>,
  handler: (
    params: ParamsOf<Params>,
    context: HandlerContext<E, State, Errors, Xs>,
  ) => Returned<Returns, Yields, Stream, Out, Value, End>,
) => Procedure<EntryFor<Params, Returns, Errors, Yields, Stream, Does, Tool, Out, Value, End>, E>;

/**
 * Compiles a procedure without registering it: `router.register(name, procedure({...}, handler))`. Its options declare
 * it; the types of `params`, `returns`, `yields` and `errors` constrain the handler.
 *
 * Throws RegistrationError for an option or a schema that can't work.
 */
export const procedure: MakeProcedure = createProcedure(() => []);

/** `procedure` for a router. @param outer gives the links in front of the procedure's own */
export function createProcedure<E extends Env>(outer: () => readonly Link[]): MakeProcedure<E> {
  const make = (options: unknown, handler: unknown): Procedure => {
    const where = `procedure ${JSON.stringify(nameOf(options, handler))}`;
    // A table of procedures can't name the types of params and state: bindParams checks the params, the module makes the state.
    const built = buildProcedure(compileOptions(options, where), handler as Handler, where);
    return behind(outer(), built);
  };
  // The entry of a procedure exists only in the type.
  return make as MakeProcedure<E>;
}

/** Everything about a procedure that does not need its handler. A decorator compiles it once for all instances. */
export interface CompiledOptions {
  readonly options: ProcedureOptions;
  readonly params: CompiledParams;
  readonly returns: CompiledReturns;
  readonly yields: CompiledYields;
  readonly errors: Procedure['errors'];
  readonly effects: Procedure['effects'];
}

/** @throws RegistrationError */
export function compileOptions(options: unknown, where: string): CompiledOptions {
  assertOptions(options, where);
  return {
    options,
    params: compileParams(options.params, where, options.placement),
    returns: compileReturns(options.tool === 'content' ? toolContent() : options.returns, where),
    yields: compileYields(options, where),
    errors: compileErrors(options.errors, where),
    effects: compileEffects(options.effects, where),
  };
}

/** @throws RegistrationError */
export function buildProcedure(
  { options, params, returns, yields, errors, effects }: CompiledOptions,
  handler: Handler,
  where: string,
): Procedure {
  assertCallable(handler, where, theHandler);
  const links = distinct(
    linksOf(options.authorize, options.use as readonly Middleware[] | undefined),
  );
  return Object.freeze({
    name: nameOf(options, handler),
    handler,
    ...frontOf(links),
    params: params.schema,
    hasOrder: params.hasOrder,
    returns: returns.schema,
    errors,
    doc: options.doc ?? null,
    effects,
    tool: options.tool,
    isAsync: options.async === true || isAsyncFunction(handler),
    ignoresContext: links.length === 0 && ignoresContext(handler),
    placement: options.placement ?? 'auto',
    group: options.group,
    timeoutMs: options.timeoutMs,
    maxConcurrency: options.maxConcurrency,
    bindParams: params.bindParams,
    result: returns.result,
    stream: streamRules(yields, handler),
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
  const { handler, bindParams, placement, links } = value as Partial<
    Record<keyof Procedure, unknown>
  >;
  return (
    typeof handler === 'function' &&
    typeof bindParams === 'function' &&
    typeof placement === 'string' &&
    Array.isArray(links)
  );
}

/** The procedure's name, from whatever was passed: it also begins the message about invalid options. */
function nameOf(options: unknown, handler: unknown): string {
  const given = (options as { name?: unknown } | null | undefined)?.name;
  if (typeof given === 'string') return given;
  return typeof handler === 'function' ? handler.name : '';
}
