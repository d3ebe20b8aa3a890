import { ownVersion, serviceName } from '../../core/base/package-files.ts';
import { isObject } from '../../core/base/value-kinds.ts';
import { afterVerdict } from '../../core/dispatch/deadline.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { Service } from '../../core/dispatch/service.ts';
import type { Log } from '../../core/observe/log.ts';
import type { ReadLimits } from '../../core/protocol/body.ts';
import { toSource } from '../../core/protocol/read.ts';
import { promised, type ReplySink, resultReply } from '../../core/protocol/reply.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import type { McpHeaders } from '../../server/http/edge/request-head.ts';
import type { Catalogue } from './catalogue.ts';
import {
  give,
  type McpClient,
  type McpRequest,
  type Message,
  notJson,
  readMessages,
  type Source,
} from './message.ts';
import {
  agreedVersion,
  batchVersion,
  errorText,
  type Fault,
  isFault,
  isLegacy,
  type McpAnswer,
  McpCode,
  malformed,
  metaNames,
  modernVersion,
  refusedFault,
  scopeFault,
  serverInfoName,
  unknownMethod,
} from './protocol.ts';
import type { Era } from './tool.ts';
import type { ResultStyle } from './tool-result.ts';
import { Tools } from './tools.ts';

/** How long clients may keep a list of tools. While the modules are watched, the next list may be another one. */
const ttlMs = 60_000;

const cancelled = 'notifications/cancelled';

/** What is answered by itself, without a call of a procedure. */
type Made = McpAnswer | Promise<McpAnswer>;

type AnswerSink = ReplySink<McpAnswer>;

/**
 * The Model Context Protocol over a service: lists its procedures as tools, and calls them. It knows no transport, keeps
 * nothing between two messages, and never throws.
 */
export class McpServer {
  readonly #service: Service;
  readonly #limits: ReadLimits;
  readonly #tools: Tools;
  readonly #serverInfo: string;
  /** After the members of each result of a modern client. */
  readonly #tail: string;
  readonly #ttlMs: number;
  readonly #styles: Readonly<Record<Era, ResultStyle>>;
  /** What each caller that has signed in must have signed in for. */
  readonly #scopes: readonly string[];
  #hasToldOfScopes = false;
  #log: Log | undefined;

  constructor(dispatcher: Dispatcher) {
    const { config } = dispatcher;
    const { mcpTools, mcpScopes, watch, maxDepth, maxBatch, maxReplyBytes } = config;
    this.#service = dispatcher;
    this.#limits = { maxDepth, maxBatch, strict: true };
    this.#tools = new Tools(dispatcher, mcpTools);
    this.#scopes = mcpScopes;
    this.#serverInfo = JSON.stringify({ name: serviceName(), version: ownVersion() });
    this.#tail = `,"_meta":{"${serverInfoName}":${this.#serverInfo}}`;
    this.#ttlMs = watch ? 0 : ttlMs;
    this.#styles = {
      modern: { era: 'modern', tail: this.#tail, maxReplyBytes },
      legacy: { era: 'legacy', tail: '', maxReplyBytes },
    };
  }

  /** The tools that are offered, once something is served; undefined: nothing is any more. */
  async catalogue(): Promise<Catalogue | undefined> {
    return this.#tools.catalogue();
  }

  /** Says if a pattern of `mcpTools` leaves nothing to offer, which is likely a slip, and which tools hosts refuse. */
  async warnOfTools(log: Log): Promise<void> {
    this.#log = log;
    const catalogue = await this.catalogue();
    for (const pattern of catalogue?.unmatched ?? []) {
      log.warn({ event: 'mcp-tools' }, `mcpTools: no procedure is called ${pattern}`);
    }
    for (const [tool, key] of catalogue?.refusedKeys ?? []) {
      log.warn(
        { event: 'mcp-tools' },
        `tool ${tool}: hosts refuse the param ${JSON.stringify(key)}, and all tools with it: name it by 1 to 64 of a-z A-Z 0-9 _ . -, or set tool: false`,
      );
    }
  }

  /**
   * Answers the body of one message, or of a batch.
   *
   * @param body as `Service.handle` takes it
   */
  handle(body: Source, scope: RequestScope, client: McpClient, sink: AnswerSink): void {
    const source = toSource(body);
    if (source === undefined) {
      sink.onReply(notJson());
      return;
    }
    const read = readMessages(source, this.#limits);
    const version = client.head?.version;
    if (!Array.isArray(read)) this.#single(read, source, scope, client, sink);
    else if (version !== undefined && version !== batchVersion) {
      const reason = 'no batches: send one message';
      sink.onReply(malformed(undefined, McpCode.InvalidRequest, reason));
    } else {
      const goOn = (): void => give(this.#batch(read, source, scope, client), undefined, sink);
      this.#admitted(scope, undefined, sink, goOn);
    }
  }

  #single(
    message: Message | Fault,
    source: Source,
    scope: RequestScope,
    client: McpClient,
    sink: AnswerSink,
  ): void {
    if (isFault(message)) {
      sink.onReply(message);
      return;
    }
    const { id, method, requestId } = message;
    if (id !== undefined) client.begin?.(id);
    else if (method === cancelled && requestId !== undefined) client.cancel?.(requestId);
    const isPrivate = scope.verdict !== undefined;
    const goOn = (): void => {
      if (id === undefined) sink.onReply(undefined);
      else this.#answer({ message, id, source, scope, client, sink, isPrivate });
    };
    this.#admitted(scope, id, sink, goOn);
  }

  /** Goes on if it is known who calls, and that they may. */
  #admitted(scope: RequestScope, id: string | undefined, sink: AnswerSink, goOn: () => void): void {
    if (scope.verdict === undefined) {
      goOn();
      return;
    }
    afterVerdict(this.#service, scope, (refused) => {
      const missing = refused === undefined ? this.#missingScopes(scope) : [];
      if (refused !== undefined) sink.onReply(refusedFault(id, refused));
      else if (missing.length > 0) sink.onReply(scopeFault(id, missing));
      else goOn();
    });
  }

  #missingScopes({ authText }: RequestScope): readonly string[] {
    if (this.#scopes.length === 0) return [];
    const scopes = scopesOf(authText);
    if (scopes === undefined && !this.#hasToldOfScopes) {
      this.#hasToldOfScopes = true;
      this.#log?.warn(
        { event: 'mcp-sign-in' },
        'mcpScopes: a caller is refused, since what authenticate returned has no list of texts named scopes: return one, or leave mcpScopes out',
      );
    }
    return this.#scopes.filter((one) => scopes?.includes(one) !== true);
  }

  #answer(asked: McpRequest): void {
    const { message, client, sink } = asked;
    if (!isModern(message, client.head)) {
      this.#legacy(asked);
      return;
    }
    const fault = modernFault(message, client.head);
    if (fault !== undefined) sink.onReply(fault);
    else if (message.method === 'tools/call') this.#tools.call(asked, this.#styles.modern);
    else give(this.#modernAnswer(asked), asked.id, sink);
  }

  #modernAnswer(asked: McpRequest): Made {
    const { message, id, isPrivate } = asked;
    const cache = `"ttlMs":${this.#ttlMs},"cacheScope":"${isPrivate ? 'private' : 'public'}"`;
    switch (message.method) {
      case 'tools/list':
        return this.#tools.list(asked, this.#styles.modern, `,${cache}${this.#tail}`);
      case 'server/discover':
        return resultReply(
          id,
          `{"resultType":"complete","supportedVersions":["${modernVersion}"],"capabilities":{"tools":{}},${cache}${this.#tail}}`,
        );
      default:
        return unknownMethod(id, message.method);
    }
  }

  #legacy(asked: McpRequest): void {
    if (asked.message.method === 'tools/call') this.#tools.call(asked, this.#styles.legacy);
    else give(this.#legacyAnswer(asked), asked.id, asked.sink);
  }

  #legacyAnswer(asked: McpRequest): Made {
    const { message, id } = asked;
    const { method, protocolVersion } = message;
    switch (method) {
      case 'tools/list':
        return this.#tools.list(asked, this.#styles.legacy, '');
      case 'initialize':
        if (protocolVersion === undefined) {
          return errorText(id, McpCode.InvalidParams, 'protocolVersion must be a string');
        }
        return resultReply(
          id,
          `{"protocolVersion":"${agreedVersion(protocolVersion)}","capabilities":{"tools":{}},"serverInfo":${this.#serverInfo}}`,
        );
      case 'ping':
        return resultReply(id, '{}');
      default:
        // The text alone: a legacy client takes a 404 for the end of its session.
        return unknownMethod(id, method).text;
    }
  }

  /** A batch of a legacy client: one message after another, as a batch of JSON-RPC. */
  async #batch(
    messages: readonly (Message | Fault)[],
    source: Source,
    scope: RequestScope,
    client: McpClient,
  ): Promise<McpAnswer> {
    const replies: string[] = [];
    let left = this.#styles.legacy.maxReplyBytes;
    const base = {
      source,
      scope,
      client: { ...client, events: undefined },
      isPrivate: false,
    };
    for (const message of messages) {
      if (isFault(message)) {
        replies.push(message.text);
        continue;
      }
      const { id, method, requestId } = message;
      if (id === undefined) {
        if (method === cancelled && requestId !== undefined) client.cancel?.(requestId);
        continue;
      }
      // Each of its calls counts for what the caller has in flight, as long as it runs.
      scope.limiterState = undefined;
      const asked = { ...base, message, id };
      const reply = await this.#ofBatch(asked, left > 0);
      left -= Buffer.byteLength(reply);
      replies.push(reply);
    }
    return replies.length === 0 ? undefined : `[${replies.join(',')}]`;
  }

  /** @param hasRoom whether the replies so far leave room for more: nothing runs if they do not */
  async #ofBatch(asked: Omit<McpRequest, 'sink'>, hasRoom: boolean): Promise<string> {
    const { id, message } = asked;
    if (isModern(message, undefined)) {
      return errorText(id, McpCode.InvalidRequest, `version ${modernVersion} has no batches`);
    }
    if (!hasRoom) {
      return errorText(id, McpCode.InternalError, 'the replies before this one are too large');
    }
    const answer = await promised<McpAnswer>((sink) => this.#legacy({ ...asked, sink }));
    if (typeof answer === 'string') return answer;
    if (answer === undefined) return resultReply(id, '{}');
    return isFault(answer) ? answer.text : Buffer.from(answer).toString();
  }
}

/**
 * The list of texts named `scopes` of a caller; undefined: there is none.
 *
 * @param authText JSON text of `context.auth`
 */
function scopesOf(authText: string | undefined): readonly string[] | undefined {
  const auth: unknown = authText === undefined ? undefined : JSON.parse(authText);
  if (!isObject(auth) || !Array.isArray(auth.scopes)) return undefined;
  const scopes: readonly unknown[] = auth.scopes;
  return scopes.filter((one) => typeof one === 'string').length === scopes.length
    ? (scopes as readonly string[])
    : undefined;
}

/** Whether a message is one of the modern version, or was meant to be one: the body decides, then the header. */
function isModern({ meta }: Message, head: McpHeaders | undefined): boolean {
  if (meta !== undefined && (meta.version !== undefined || meta.hasCapabilities)) return true;
  return head?.version !== undefined && !isLegacy(head.version);
}

/** What is wrong with a modern message beside what it asks for; undefined: nothing. */
function modernFault(message: Message, head: McpHeaders | undefined): Fault | undefined {
  const { id, meta, method, name } = message;
  const version = meta?.version;
  if (version === undefined) return lacks(id, metaNames.version);
  const mismatch = (header: string, given: string | undefined): Fault => {
    const what = given === undefined ? 'is missing' : 'differs from the body';
    return malformed(id, McpCode.HeaderMismatch, `Header mismatch: ${header} ${what}`);
  };
  if (head !== undefined && head.version !== version) {
    return mismatch('MCP-Protocol-Version', head.version);
  }
  if (version !== modernVersion) {
    return malformed(id, McpCode.UnsupportedVersion, 'Unsupported protocol version', {
      supported: [modernVersion],
      requested: version,
    });
  }
  if (meta?.hasCapabilities !== true) return lacks(id, metaNames.capabilities);
  if (head === undefined) return undefined;
  if (head.method !== method) return mismatch('Mcp-Method', head.method);
  if (method === 'tools/call' && decoded(head.name) !== name) {
    return mismatch('Mcp-Name', head.name);
  }
  return undefined;
}

function lacks(id: string | undefined, member: string): Fault {
  return malformed(id, McpCode.InvalidParams, `Invalid params: _meta lacks ${member}`);
}

const encoded = /^=\?base64\?([\d+/A-Za-z]*={0,2})\?=$/;

/** A name as a header carries it: what is not plain ASCII is base64. */
function decoded(name: string | undefined): string | undefined {
  const [, base64] = encoded.exec(name ?? '') ?? [];
  return base64 === undefined ? name : Buffer.from(base64, 'base64').toString();
}
