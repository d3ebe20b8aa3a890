import { RegistrationError } from '../base/registration-error.ts';
import type { ParamsOf, ParamsSchema, ResultSchema } from '../schema/declared.ts';
import type { BatchContext, BatchOptions } from './batch.ts';
import type { AnyAuth, Env, HandlerContext, StateOf } from './context.ts';
import type { Effects, ErrorDeclarations } from './declarations.ts';
import {
  buildProcedure,
  type CompiledOptions,
  compileOptions,
  type Together,
} from './procedure.ts';
import { assertName } from './registration.ts';
import type {
  Beside,
  Handler,
  Procedure,
  ProcedureOptions,
  Returned,
  StreamOptions,
} from './types.ts';

/** Any method that can be a procedure: `never` accepts every type of params, state and auth. */
type Method<This, E extends Env> = (
  this: This,
  params: never,
  context: HandlerContext<AnyAuth<E>, never, Record<never, never>>,
) => unknown;

/** The members of a ClassMethodDecoratorContext that are used here: its own type asks for `any`. */
export type MethodContext<This> = Pick<
  ClassMethodDecoratorContext<This>,
  'kind' | 'name' | 'static' | 'addInitializer'
> & { readonly access: { get(object: This): unknown } };

export type RpcDecorator<
  Params extends ParamsSchema | undefined,
  Returns extends ResultSchema | undefined,
  Errors extends ErrorDeclarations = Record<never, never>,
  E extends Env = Env,
  Xs extends readonly object[] = readonly object[],
  Yields extends ResultSchema | undefined = undefined,
  Stream extends true | StreamOptions | undefined = undefined,
  Batch extends BatchOptions | undefined = undefined,
> = <This, State = StateOf<E>>(
  method: 'max' extends keyof Batch
    ? (
        this: This,
        params: readonly ParamsOf<Params>[],
        batch: BatchContext<HandlerContext<E, State, Errors, Xs>, State, Errors>,
      ) => Together<Returns>
    : (
        this: This,
        params: ParamsOf<Params>,
        context: HandlerContext<E, State, Errors, Xs>,
      ) => Returned<Returns, Yields, Stream>,
  context: ClassMethodDecoratorContext<This>,
) => void;

/**
 * Registers procedures. A function that is passed to it is returned unchanged. As a decorator it registers a static
 * method when the class is defined, and an instance method, bound to its instance, when the instance is created.
 * It can be taken off its router: `const { rpc } = router`.
 *
 * Throws RegistrationError for what can't be a procedure, DuplicateProcedureError for a name that is taken.
 */
export interface Rpc<E extends Env = Env> {
  // This overload comes first: TypeScript tries the overloads of a decorator in order, and any other gives TS1270.
  /** `@router.rpc method(params, context) {...}` */
  <This, M extends Method<This, E>>(method: M, context: MethodContext<This>): void;

  /**
   * `router.rpc({ params, returns, ... }, (params, context) => result)`, and with `batch: { max }` a handler that takes many calls
   * at once: `(params, batch) => results`
   */
  <
    Params extends ParamsSchema | undefined = undefined,
    Returns extends ResultSchema | undefined = undefined,
    State = StateOf<E>,
    const Errors extends ErrorDeclarations = Record<never, never>,
    Xs extends readonly object[] = readonly object[],
    Yields extends ResultSchema | undefined = undefined,
    Stream extends true | StreamOptions | undefined = undefined,
    Out = unknown,
    Value = unknown,
    End = unknown,
    Batch extends BatchOptions | undefined = undefined,
    Each = unknown,
  >(
    options: Options<Params, Returns, Errors, State, E, Xs, Yields, Stream, Batch>,
    handler: 'max' extends keyof Batch
      ? (
          params: readonly ParamsOf<Params>[],
          batch: BatchContext<HandlerContext<E, State, Errors, Xs>, State, Errors>,
        ) => Together<Returns, Each>
      : (
          params: ParamsOf<Params>,
          context: HandlerContext<E, State, Errors, Xs>,
        ) => Returned<Returns, Yields, Stream, Out, Value, End>,
  ): 'max' extends keyof Batch
    ? (
        params: readonly ParamsOf<Params>[],
        batch: BatchContext<HandlerContext<E, State, Errors, Xs>, State, Errors>,
      ) => Together<Returns, Each>
    : (
        params: ParamsOf<Params>,
        context: HandlerContext<E, State, Errors, Xs>,
      ) => Returned<Returns, Yields, Stream, Out, Value, End>;

  /** `router.rpc(function add(params, context) {...})`: no schema, takes any object */
  <Params extends object = Record<string, unknown>, Result = unknown, State = StateOf<E>>(
    handler: (params: Params, context: HandlerContext<E, State, Record<never, never>>) => Result,
  ): (params: Params, context: HandlerContext<E, State, Record<never, never>>) => Result;

  /** `@router.rpc({ params, returns, ... }) method(params, context) {...}` */
  <
    Params extends ParamsSchema | undefined = undefined,
    Returns extends ResultSchema | undefined = undefined,
    const Errors extends ErrorDeclarations = Record<never, never>,
    State = StateOf<E>,
    Xs extends readonly object[] = readonly object[],
    Yields extends ResultSchema | undefined = undefined,
    Stream extends true | StreamOptions | undefined = undefined,
    Batch extends BatchOptions | undefined = undefined,
  >(
    options: Options<Params, Returns, Errors, State, E, Xs, Yields, Stream, Batch>,
  ): RpcDecorator<Params, Returns, Errors, E, Xs, Yields, Stream, Batch>;
}

/** The options of `rpc`, which knows no types of `effects` and `tool`. */
type Options<
  Params extends ParamsSchema | undefined,
  Returns extends ResultSchema | undefined,
  Errors extends ErrorDeclarations,
  State,
  E extends Env,
  Xs extends readonly object[],
  Yields extends ResultSchema | undefined,
  Stream extends true | StreamOptions | undefined,
  Batch extends BatchOptions | undefined,
> = ProcedureOptions<
  Params,
  Returns,
  Errors,
  State,
  E,
  Xs,
  Yields,
  Stream,
  Effects | undefined,
  false | 'content' | undefined,
  Batch
> &
  Beside<Batch>;

type Register = (name: string, procedure: Procedure) => void;

/** `rpc` for a router that takes procedures through `register`. */
export function createRpc<E extends Env>(register: Register): Rpc<E> {
  const add = (compiled: CompiledOptions, handler: Handler | null | undefined): void => {
    const name = compiled.options.name ?? handler?.name ?? '';
    const where = `procedure ${JSON.stringify(name)}`;
    const built = buildProcedure(compiled, handler as Handler, where);
    assertName(name, 'rpc');
    register(name, built);
  };
  const decorate = (compiled: CompiledOptions, context: MethodContext<unknown>): void => {
    const name = compiled.options.name ?? context.name;
    assertName(name, `decorator of ${String(context.name)}`);
    const where = `procedure ${JSON.stringify(name)}`;
    context.addInitializer(function (this: unknown) {
      // Read here, not at decoration: now the method has the outer decorators and a subclass's override.
      const method = context.access.get(this) as Handler;
      register(name, buildProcedure(compiled, method.bind(this), where));
    });
  };
  const rpc = (...given: readonly unknown[]): unknown => {
    const [first, second] = given;
    if (typeof first === 'function') {
      const compiled = compileOptions({}, 'rpc');
      if (second === undefined) {
        add(compiled, first as Handler);
        return first;
      }
      decorate(compiled, methodContext(second));
      return undefined;
    }
    const name = (first as ProcedureOptions | null | undefined)?.name;
    const compiled = compileOptions(
      first,
      typeof name === 'string' && name !== '' ? `procedure "${name}"` : 'rpc',
    );
    // A handler that is undefined, as an import in a circle is, is no decorator's call: it would register nothing.
    if (given.length < 2) {
      return (_method: unknown, context: unknown) => decorate(compiled, methodContext(context));
    }
    add(compiled, second as Handler);
    return second;
  };
  // The function tells the overloads apart at run time.
  return rpc as Rpc<E>;
}

function methodContext(context: unknown): MethodContext<unknown> {
  if (typeof context === 'object' && context !== null && 'kind' in context) {
    if (context.kind === 'method') return context as MethodContext<unknown>;
    throw new RegistrationError(`rpc decorates methods, this is a ${String(context.kind)}`);
  }
  if (typeof context === 'string' || typeof context === 'symbol') {
    throw new RegistrationError(
      'rpc is a standard decorator; remove experimentalDecorators from the TypeScript options',
    );
  }
  throw new RegistrationError('rpc: the options come first: rpc({ ... }, handler)');
}
