import { LineLimiter } from '../base/line-limiter.ts';
import { messageOf } from '../base/message-of.ts';
import type { Broadcast } from './broadcast.ts';
import type { ErrorMakers } from './declarations.ts';

/** The second argument of a handler: the same inline and in a worker. */
export interface CallContext<State = unknown, Errors = Record<never, never>, Auth = unknown> {
  /** Aborts when the caller has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Whether the caller has gone, or was answered at the deadline. In a worker it is true within synchronous code too, where
   * the signal can't abort: a loop may ask in each round, which costs some nanoseconds. Synchronous code on the main
   * thread keeps it from learning of either: there compare `deadline`.
   */
  readonly cancelled: boolean;
  /** Writes lines into the service's log: `context.log.info({ rows }, 'imported')`. They carry `method` and `id`. */
  readonly log: CallLog;
  /**
   * When this call must have ended, in milliseconds since the Unix epoch. Read it anew each time you compare it with
   * Date.now(): when somebody sets the wall clock, the deadline moves with it.
   */
  readonly deadline: number;
  /** The request's id, undefined for a notification. A number beyond double precision is rounded here only. */
  readonly id: string | number | null | undefined;
  /** The name the procedure was called by. */
  readonly method: string;
  /** The request headers named in `forwardHeaders`, lower-case names. Frozen. */
  readonly headers: Readonly<Record<string, string>>;
  /** The caller's address, undefined if the transport has none. */
  readonly remoteAddress: string | undefined;
  /** What the `authenticate` hook returned. Each call has its own copy. */
  readonly auth: Auth;
  /**
   * The `traceparent` header (W3C Trace Context); undefined if the request had none or an invalid one. With the
   * option `tracing` it names the span of this call. Send it with the requests that the handler makes.
   */
  readonly traceparent: string | undefined;
  /** The `tracestate` header that came with it. */
  readonly tracestate: string | undefined;
  /** What the module's `setup()` returned in this replica. */
  readonly state: State;
  /** Makes the errors the procedure declares: `throw context.errors.NAME(data)`. */
  readonly errors: ErrorMakers<Errors>;
  /** Runs a broadcast of the served modules in all threads of this process, as `Dispatcher.broadcast` does. */
  readonly broadcast: Broadcast;
}

/** The types that the handlers of a router rely on: `new Router<{ auth: User | undefined; state: Db }>()`. */
export interface Env {
  /** What the `authenticate` hook returns. */
  readonly auth?: unknown;
  /** What the `setup()` of the router's module returns. */
  readonly state?: unknown;
  /** What the middleware of the router adds to the context. The type of `use` writes it. */
  readonly '~added'?: object;
}

export type AuthOf<E extends Env> = 'auth' extends keyof E ? E['auth'] : unknown;

export type StateOf<E extends Env> = 'state' extends keyof E ? E['state'] : unknown;

/** `unknown` if nothing is added: an intersection with it changes nothing. */
type AddedOf<E extends Env> = '~added' extends keyof E
  ? object extends E['~added']
    ? unknown
    : E['~added']
  : unknown;

/** What all members of a list of middleware add; `unknown` for a list whose members are not known one by one. */
type AddedBy<Xs extends readonly object[]> = Xs extends readonly [
  infer First,
  ...infer Rest extends readonly object[],
]
  ? Later<First, AddedBy<Rest>>
  : unknown;

/** What is added later takes the place of a member of the same name. */
type Later<First, Then> = [keyof First & keyof Then] extends [never]
  ? First & Then
  : Omit<First, keyof Then> & Then;

/** Intersects only if something was added, so that a context that nobody extends stays a plain CallContext. */
type Extended<Context, Added> = keyof Added extends never ? Context : Context & Added;

/**
 * What a handler is given.
 *
 * @typeParam Xs what each middleware of the procedure's own `use` adds
 */
export type HandlerContext<
  E extends Env,
  State,
  Errors,
  Xs extends readonly object[] = readonly object[],
> = Extended<CallContext<State, Errors, AuthOf<E>>, Later<AddedOf<E>, AddedBy<Xs>>>;

/** The environment with an `auth` that every type of `auth` accepts. */
export type AnyAuth<E extends Env> = E & { readonly auth: never };

export type BaseContext<E extends Env> = HandlerContext<E, StateOf<E>, Record<never, never>>;

/** The context of a router's handlers, for methods and functions that are written apart: `ContextOf<typeof router>`. */
export type ContextOf<R> = R extends { readonly '~env'?: infer E extends Env }
  ? BaseContext<E>
  : never;

/** The environment after a middleware that adds `X`. What it says of `auth` and `state` takes the place of what was known. */
export type With<E extends Env, X extends object> =
  AddsNothing<X> extends true
    ? E
    : {
        readonly auth: X extends { readonly auth: infer Auth } ? Auth : AuthOf<E>;
        readonly state: X extends { readonly state: infer State } ? State : StateOf<E>;
        readonly '~added': Flat<Omit<AddedOf<E>, keyof X> & Omit<X, 'auth' | 'state'>>;
      };

/** A middleware that only replies adds `never`: nothing comes after it. */
type AddsNothing<X> = [X] extends [never] ? true : keyof X extends never ? true : false;

type Flat<T> = { readonly [Key in keyof T]: T[Key] };

export type CallLogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes a line into the service's log: facts as a JSON value, then a sentence for people. */
export type WriteLine = (fields: Readonly<Record<string, unknown>>, text: string) => void;

/** The log of one call, the same inline and in a worker. Its lines carry the call's method and id. */
export type CallLog = Readonly<Record<CallLogLevel, WriteLine>>;

/** A line as it crosses between threads. */
export interface CallLine {
  readonly level: CallLogLevel;
  readonly method: string;
  /** JSON text; undefined: a notification. */
  readonly id: string | undefined;
  /** JSON text of the fields. */
  readonly fields: string;
  readonly text: string;
}

/** Lines that one thread may write in a second. Each costs the main thread some microseconds. */
const linesPerSecond = 1000;
/** Characters of the longest JSON text of the fields of a line, and of its longest sentence. */
const maxLine = 8192;

/** The lines of all calls of one thread. They are bounded; what is dropped is counted, and the count is a line. */
export class CallLines {
  readonly #write: (line: CallLine) => void;
  readonly #limiter = new LineLimiter<undefined>(([all]) => {
    const fields = JSON.stringify({ dropped: all?.dropped ?? 0 });
    const text = 'lines of context.log were dropped: a thread writes 1000 a second';
    this.#write({ level: 'warn', method: '', id: undefined, fields, text });
  });

  constructor(write: (line: CallLine) => void) {
    this.#write = write;
  }

  /** @param id JSON text; undefined: a notification */
  of(method: string, id: string | undefined): CallLog {
    // Nothing here throws: a line that can't be written must not cost its call.
    const at =
      (level: CallLogLevel): WriteLine =>
      (fields, text) => {
        if (!this.#limiter.admits('', undefined, linesPerSecond)) return;
        this.#write({ level, method, id, fields: fieldsText(fields), text: cut(text) });
      };
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }
}

function fieldsText(fields: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(fields);
  } catch (error) {
    return JSON.stringify({ unwritable: cut(messageOf(error)) });
  }
  if (text === undefined) return '{}';
  return text.length <= maxLine ? text : JSON.stringify({ tooLong: text.length });
}

function cut(text: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  return whole.length <= maxLine ? whole : `${whole.slice(0, maxLine - 1)}…`;
}
