import { type TSchema, Type } from '@sinclair/typebox';
import { groupNameAllowed, isGroupName } from '../base/place.ts';
import { RegistrationError } from '../base/registration-error.ts';
import { maxDelayMs } from '../base/timer.ts';
import {
  isStandard,
  type ParamsOf,
  type ParamsSchema,
  paramsForms,
  type ResultOf,
  type ResultSchema,
} from '../schema/declared.ts';
import {
  aFunction,
  objectOf,
  oneOf,
  optionsCheck,
  text,
  valueThat,
  wholeNumber,
  yesOrNo,
} from '../schema/options.ts';
import { compileParams, compileReturns } from '../schema/schema.ts';
import { base64 } from '../schema/type.ts';
import { compileAffinity } from './affinity.ts';
import {
  assertBatchHandler,
  type BatchContext,
  type BatchHandler,
  type BatchOptions,
  type BatchRules,
  batchSchema,
  compileBatch,
  type Results,
} from './batch.ts';
import { joinBatch } from './batch-run.ts';
import {
  addLinks,
  assertUseList,
  distinct,
  type LinkMembers,
  linkMembers,
  linksOf,
  useList,
} from './chain.ts';
import type { Env, HandlerContext, StateOf } from './context.ts';
import {
  cacheSchema,
  compileCache,
  compileEffects,
  compileErrors,
  type Effects,
  type ErrorDeclarations,
  effectsSchema,
  errorsSchema,
} from './declarations.ts';
import type { Link, Middleware } from './middleware.ts';
import {
  assertCallable,
  assertName,
  isAsyncFunction,
  isGeneratorFunction,
  theHandler,
} from './registration.ts';
import type {
  Beside,
  EntryFor,
  Handler,
  Procedure,
  ProcedureOptions,
  Returned,
  StreamOptions,
  StreamRules,
} from './types.ts';

/**
 * Makes procedures whose handlers rely on the environment `E`. One signature for both kinds of handlers: with overloads the
 * compiler would tell of each of them at every mistake.
 *
 * @typeParam Each what a handler that takes many calls at once gives for one of them
 */
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
  Batch extends BatchOptions | undefined = undefined,
  Each = unknown,
>(
  options: ProcedureOptions<
    Params,
    Returns,
    Errors,
    State,
    E,
    Xs,
    Yields,
    Stream,
    Does,
    Tool,
    Batch
  > &
    Beside<Batch>,
  handler: 'max' extends keyof Batch
    ? (
        params: readonly ParamsOf<Params>[],
        batch: BatchContext<HandlerContext<E, State, Errors, Xs>, State, Errors>,
      ) => Together<Returns, Each>
    : (
        params: ParamsOf<Params>,
        context: HandlerContext<E, State, Errors, Xs>,
      ) => Returned<Returns, Yields, Stream, Out, Value, End>,
) => Procedure<
  EntryFor<
    Params,
    Returns,
    Errors,
    Yields,
    Stream,
    Does,
    Tool,
    'max' extends keyof Batch ? Exclude<Each, Error> : Out,
    Value,
    End
  >,
  E
>;

/** What a handler that takes many calls at once returns: results of `returns`; without it anything, from which `Out` is inferred. */
export type Together<Returns, Out = unknown> =
  | Results<[Returns] extends [undefined] ? Out : ResultOf<Returns>>
  | Promise<Results<[Returns] extends [undefined] ? Out : ResultOf<Returns>>>;

/**
 * Compiles a procedure without registering it: `router.register(name, procedure({...}, handler))`. Its options declare
 * it; the types of `params`, `returns`, `yields` and `errors` constrain the handler.
 *
 * Throws RegistrationError for an option or a schema that can't work.
 */
export const procedure: MakeProcedure = createProcedure(() => []);

/** `procedure` for a router. @param outer gives the links before the procedure's own */
export function createProcedure<E extends Env>(outer: () => readonly Link[]): MakeProcedure<E> {
  const make = (options: unknown, handler: unknown): Procedure => {
    const where = `procedure ${JSON.stringify(nameOf(options, handler))}`;
    // A table of procedures can't name the types of params and state: bindParams checks the params, the module makes the state.
    const built = buildProcedure(compileOptions(options, where), handler as Handler, where);
    return addLinks(outer(), built);
  };
  // The entry of a procedure exists only in the type.
  return make as MakeProcedure<E>;
}

/** Everything about a procedure that does not need its handler. A decorator compiles it once for all instances. */
export interface CompiledOptions {
  readonly options: ProcedureOptions;
  /** Its `stream` holds the rules of a stream, whether the procedure is one or not. */
  readonly members: Omit<
    Procedure,
    'name' | 'handler' | keyof LinkMembers | 'isAsync' | 'ignoresContext' | 'batch'
  >;
  readonly batch: Omit<BatchRules, 'handler'> | undefined;
}

export function compileOptions(options: unknown, where: string): CompiledOptions {
  assertOptions(options, where);
  const { tool, group, timeoutMs, maxConcurrency, httpApi } = options;
  const effects = compileEffects(options.effects, where);
  const params = compileParams(options.params, where, options.placement);
  if (tool === 'content') toolContent ??= createToolContent();
  return {
    options,
    batch: compileBatch(options, where),
    members: {
      ...params,
      ...compileReturns(tool === 'content' ? toolContent : options.returns, where),
      stream: compileStream(options, where),
      errors: compileErrors(options.errors, where),
      effects,
      httpApi,
      cache: compileCache(options.cache, effects, where),
      doc: options.doc ?? null,
      placement: options.placement ?? 'auto',
      tool,
      group,
      timeoutMs,
      maxConcurrency,
      affinity: compileAffinity(options, params.params, where),
      moduleState: undefined,
    },
  };
}

export function buildProcedure(
  { options, members, batch }: CompiledOptions,
  handler: Handler,
  where: string,
): Procedure {
  assertCallable(handler, where, theHandler);
  if (batch !== undefined)
    assertBatchHandler(handler, options.batch, options.async === true, where);
  const links = distinct(
    linksOf(options.authorize, options.use as readonly Middleware[] | undefined),
  );
  const isStream =
    options.stream !== undefined || options.yields !== undefined || isGeneratorFunction(handler);
  if (isStream && members.cache !== undefined) {
    throw new RegistrationError(`${where}: option cache is not for a stream, which no cache keeps`);
  }
  if (isStream && members.affinity !== undefined) {
    throw new RegistrationError(
      `${where}: option affinity is not for a stream, which would hold the worker of its key for as long as it runs: leave affinity out`,
    );
  }
  return Object.freeze({
    ...members,
    ...linkMembers(links),
    name: nameOf(options, handler),
    handler: batch === undefined ? handler : joinBatch,
    // The types of `rpc` and `procedure` give such options a handler of this kind.
    batch: batch && Object.freeze({ ...batch, handler: handler as unknown as BatchHandler }),
    stream: isStream ? members.stream : undefined,
    isAsync: options.async === true || isAsyncFunction(handler),
    ignoresContext: links.length === 0 && ignoresContext(handler),
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

/** Types of arktype are functions. */
const isSchema = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || isStandard(value);

const resultSchema = (): TSchema =>
  valueThat(isSchema, 'a TypeBox schema, made by Type, or one of zod, arktype or valibot');

const checkOptions = optionsCheck<keyof ProcedureOptions>(
  {
    name: text,
    params: () => valueThat(isSchema, paramsForms),
    returns: resultSchema,
    errors: errorsSchema,
    effects: effectsSchema,
    tool: () =>
      Type.Union([Type.Literal(false), Type.Literal('content')], {
        description: "false or 'content'",
      }),
    httpApi: () => Type.Literal(false, { description: 'false, or left out' }),
    cache: cacheSchema,
    doc: text,
    placement: () => oneOf('inline', 'worker', 'auto'),
    group: () => valueThat(isGroupName, `the name of a group of workers: ${groupNameAllowed}`),
    authorize: aFunction,
    use: useList,
    timeoutMs: () => wholeNumber('milliseconds', 1, maxDelayMs),
    maxConcurrency: () => wholeNumber('calls', 1),
    batch: batchSchema,
    affinity: () => Type.String({ minLength: 1, description: "the name of a param, or 'caller'" }),
    yields: resultSchema,
    stream: streamSchema,
    async: yesOrNo,
  },
  { expected: 'an object and come before the handler' },
);

function streamSchema(): TSchema {
  const options = objectOf<keyof StreamOptions>(
    {},
    {
      notification: text(),
      unsubscribe: text(),
      collect: yesOrNo(),
      drain: oneOf('end', 'finish'),
    },
  );
  const description = `true, or ${options.description}`;
  return Type.Union([Type.Literal(true), options], { description });
}

function assertOptions(options: unknown, where: string): asserts options is ProcedureOptions {
  checkOptions(options, where);
  const { use, name, placement, group, tool, returns } = options as ProcedureOptions;
  if (use !== undefined) assertUseList(use, where);
  if (name !== undefined) assertName(name, where);
  if (tool === 'content' && returns !== undefined) {
    throw new RegistrationError(
      `${where}: option tool says what is returned, { content: [...] }: leave returns out`,
    );
  }
  if (placement === 'inline' && group !== undefined) {
    throw new RegistrationError(
      `${where}: option group (${group}) is for workers, and placement is 'inline': leave one of the two out`,
    );
  }
}

function compileStream({ yields, stream }: ProcedureOptions, where: string): StreamRules {
  const options = typeof stream === 'object' ? stream : {};
  const { notification, unsubscribe, collect = false, drain = 'end' } = options;
  if (notification !== undefined) assertName(notification, `${where}: option stream.notification`);
  if (unsubscribe !== undefined) assertName(unsubscribe, `${where}: option stream.unsubscribe`);
  const { returns: schema, result: value } = compileReturns(yields, where, 'yields');
  return Object.freeze({ notification, unsubscribe, collect, drain, yields: schema, value });
}

let toolContent: TSchema | undefined;

/**
 * What a procedure with `tool: 'content'` returns: content of the Model Context Protocol, version 2026-07-28
 * (https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result). `content` is the first member.
 */
function createToolContent(): TSchema {
  const shown = {
    annotations: Type.Optional(
      Type.Object({
        audience: Type.Optional(
          Type.Array(Type.Union([Type.Literal('user'), Type.Literal('assistant')])),
        ),
        priority: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        lastModified: Type.Optional(Type.String()),
      }),
    ),
  };
  const media = { data: base64(), mimeType: Type.String() };
  const uri = Type.String();
  const resource = { uri, mimeType: Type.Optional(Type.String()) };
  const block = Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String(), ...shown }),
    Type.Object({ type: Type.Literal('image'), ...media, ...shown }),
    Type.Object({ type: Type.Literal('audio'), ...media, ...shown }),
    Type.Object({
      type: Type.Literal('resource_link'),
      ...resource,
      name: Type.String(),
      title: Type.Optional(Type.String()),
      description: Type.Optional(Type.String()),
      size: Type.Optional(Type.Number()),
      ...shown,
    }),
    Type.Object({
      type: Type.Literal('resource'),
      resource: Type.Union([
        Type.Object({ ...resource, text: Type.String() }),
        Type.Object({ ...resource, blob: base64() }),
      ]),
      ...shown,
    }),
  ]);
  return Type.Object({
    content: Type.Array(block),
    isError: Type.Optional(Type.Boolean()),
  });
}

/** A whole list of parameters: none, a name, or names taken out of an object, none of them with a default or the rest. */
const plainList = /^\(\s*(?:[\w$]+|\{[^(){}[\]=.]*\})?\s*,?\s*\)\s*(?:=>|\{)/;

/** What may stand before the list: `async`, `function`, `*`, the name of a function or of a method. */
const beforeList = /^(?:async\s+)?(?:function\b)?\s*\*?\s*[\w$]*\s*/;

const loneParameter = /^(?:async\s+)?[\w$]+\s*=>/;

/** What reaches arguments that no parameter names. `\u`: a letter of a name may be written so. */
const hiddenAccess = /\b(?:arguments|eval)\b|\\u|\[native code\]/;

/**
 * Whether the handler's own text shows that it can't look at its second argument, the context: it has one parameter at
 * most, and nothing that reaches further arguments. Of a bound function, a parameter with a default or `...rest` nothing is
 * known: false.
 *
 * What a handler can't see need not cross to its worker: to look the caller's address up is a system call. Without this
 * rule a small pooled call takes 8 to 14% more CPU time; an inline call takes the same. The text decides, and not what
 * was read so far, since a handler that reads the address in rare cases must have it in those, too.
 */
function ignoresContext(handler: (...args: never) => unknown): boolean {
  const text = Function.prototype.toString.call(handler);
  if (hiddenAccess.test(text)) return false;
  return loneParameter.test(text) || plainList.test(text.replace(beforeList, ''));
}
