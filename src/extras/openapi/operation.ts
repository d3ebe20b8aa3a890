import { StartupError } from '../../core/base/startup-error.ts';
import { isErrorStatus } from '../../core/procedures/declarations.ts';
import { matcherOf } from '../../core/procedures/names.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { anything, resolved, type SchemaNode, takesMore } from '../../core/schema/model.ts';
import { isBytes } from './dialect.ts';
import { ParamKinds, type QueryRules } from './query.ts';

/** The id of each call, JSON text: nobody sees it. */
export const callId = '1';

/** What the HTTP facade knows of one procedure. Its URL is the option `httpPath`, a slash and the procedure's name. */
export interface Operation extends QueryRules {
  readonly procedure: Procedure;
  /** The JSON-RPC request of a call, up to its params. */
  readonly head: string;
  /** It takes GET and HEAD beside POST: it changes nothing. */
  readonly isRead: boolean;
  /** The methods, as the header `allow` has them. */
  readonly allow: string;
  /** The param that a POST may have as its body; undefined: there is none, or there are several. */
  readonly bytesParam: BytesParam | undefined;
  /** What it returns. Of a stream: at its end. */
  readonly result: ResultForm;
  readonly stream: { readonly collect: boolean; readonly hasResult: boolean } | undefined;
  readonly errors: ReadonlyMap<number, DeclaredStatus>;
  /** The header `cache-control` of a GET or HEAD that succeeds; undefined: nothing is kept. */
  readonly cacheControl: string | undefined;
  /**
   * How the document shows the params: in the query of a GET; as the JSON body of a POST; as the bytes of a POST, and the
   * other ones in its query. The server takes all of them that the members above allow.
   */
  readonly form: 'query' | 'json' | 'bytes';
}

export interface BytesParam {
  readonly name: string;
  /** As declared, `image/*` say; undefined: of any type. */
  readonly mediaType: string | undefined;
}

export type ResultForm =
  | { readonly kind: 'nothing' | 'json' }
  | { readonly kind: 'bytes'; readonly mediaType: string | undefined };

export interface DeclaredStatus {
  readonly name: string;
  readonly status: number;
}

/** The status of an error that a procedure throws without having declared one for it. */
export function statusOfCode(code: number): number {
  return isErrorStatus(code) ? code : 422;
}

/** The procedures that have URLs, in one state of the service. */
export class Operations {
  /** By name, in the order of registration. */
  readonly procedures: ReadonlyMap<string, Procedure>;
  readonly #made = new Map<string, Operation>();
  readonly #hasAuth: boolean;
  /** The patterns that name no procedure. */
  readonly unmatched: readonly string[];
  /** Names that no URL can carry, of procedures that would have one otherwise. */
  readonly withoutUrl: readonly string[];

  /**
   * @param patterns of the procedures that are offered; empty: all
   * @param hasAuth whether the service knows who calls
   */
  constructor(
    table: ReadonlyMap<string, Procedure>,
    patterns: readonly string[],
    hasAuth: boolean,
  ) {
    this.#hasAuth = hasAuth;
    const matchers = patterns.map((pattern) => ({ pattern, matches: matcherOf(pattern) }));
    const unmatched = new Set(patterns);
    const withoutUrl: string[] = [];
    const procedures = new Map<string, Procedure>();
    for (const [name, procedure] of table) {
      const named = matchers.filter(({ matches }) => matches(name));
      for (const { pattern } of named) unmatched.delete(pattern);
      if (procedure.httpApi === false || (patterns.length > 0 && named.length === 0)) continue;
      if (hasUrl(name)) procedures.set(name, procedure);
      else withoutUrl.push(name);
    }
    this.procedures = procedures;
    this.unmatched = [...unmatched];
    this.withoutUrl = withoutUrl;
  }

  /** Made when it is asked for first. */
  find(name: string): Operation | undefined {
    let operation = this.#made.get(name);
    const procedure = operation === undefined ? this.procedures.get(name) : undefined;
    if (procedure !== undefined) {
      operation = createOperation(procedure, this.#hasAuth);
      this.#made.set(name, operation);
    }
    return operation;
  }

  /**
   * Refuses what would show one caller's answer to another. Asked at the start: a reload that brings such a procedure has it
   * answer `private`.
   *
   * @throws StartupError
   */
  assertCaches(): void {
    if (!this.#hasAuth) return;
    for (const procedure of this.procedures.values()) {
      if (procedure.cache?.scope !== 'public' || !isGuarded(procedure)) continue;
      throw new StartupError(
        `procedure ${procedure.name} has cache.scope 'public' beside authorize or use, and authenticate says who calls: shared caches would show its answers to others; declare 'private'`,
      );
    }
  }
}

/** Clients take segments of dots and empty ones out of a URL, or servers do. */
function hasUrl(name: string): boolean {
  return name.split('/').every((segment) => !['', '.', '..'].includes(segment));
}

/** Whether something decides by who calls. */
function isGuarded({ links }: Procedure): boolean {
  return links.length > 0;
}

function createOperation(procedure: Procedure, hasAuth: boolean): Operation {
  const { params, returns, stream, effects, errors } = procedure;
  const isRead = effects?.readOnly === true;
  const members = params?.members ?? [];
  const bytes = members.flatMap(({ name, node }) => {
    const at = resolved(node);
    return isBytes(at) ? [{ name, mediaType: mediaTypeOf(at) }] : [];
  });
  const kinds = new Map(members.map(({ name, node }) => [name, new ParamKinds(node)]));
  // A procedure that declares nothing takes any object.
  const rest = params === undefined ? anything : params.rest;
  const others = takesMore(rest) ? new ParamKinds(rest) : undefined;
  const inQuery = [...kinds].filter(([name]) => bytes.every((one) => one.name !== name));
  const isFlat = others === undefined && inQuery.every(([, one]) => one.isFlat);
  const bytesParam = bytes.length === 1 ? bytes[0] : undefined;
  const result = resultForm(returns ?? anything);
  return {
    procedure,
    head: `{"jsonrpc":"2.0","id":${callId},"method":"${procedure.name}","params":`,
    isRead,
    allow: isRead ? 'GET, HEAD, POST, OPTIONS' : 'POST, OPTIONS',
    params: kinds,
    others,
    bytesParam,
    result,
    stream: stream && {
      collect: stream.collect,
      hasResult: returns !== undefined && result.kind !== 'nothing',
    },
    errors: new Map(
      Object.entries(errors?.declared ?? {}).map(([name, { code, status }]) => [
        code,
        { name, status: status ?? statusOfCode(code) },
      ]),
    ),
    cacheControl: cacheControl(procedure, hasAuth),
    form:
      !isFlat || bytes.length > 1
        ? 'json'
        : bytesParam !== undefined
          ? 'bytes'
          : isRead
            ? 'query'
            : 'json',
  };
}

function resultForm(returns: SchemaNode): ResultForm {
  const at = resolved(returns);
  if (at.kind === 'null' || at.kind === 'void') return { kind: 'nothing' };
  return isBytes(at) ? { kind: 'bytes', mediaType: mediaTypeOf(at) } : { kind: 'json' };
}

function cacheControl(procedure: Procedure, hasAuth: boolean): string | undefined {
  const { cache } = procedure;
  if (cache === undefined) return undefined;
  const scope = hasAuth && isGuarded(procedure) ? 'private' : cache.scope;
  const stale = cache.staleSeconds > 0 ? `, stale-while-revalidate=${cache.staleSeconds}` : '';
  return `${scope}, max-age=${cache.maxAgeSeconds}${stale}`;
}

function mediaTypeOf({ notes }: SchemaNode): string | undefined {
  const { contentMediaType } = notes;
  return typeof contentMediaType === 'string' ? contentMediaType : undefined;
}
