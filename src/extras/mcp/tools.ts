import { didYouMean } from '../../core/base/suggest.ts';
import { shortened } from '../../core/base/text.ts';
import { isObject } from '../../core/base/value-kinds.ts';
import type { ServedProcedures, Service } from '../../core/dispatch/service.ts';
import type {
  StreamCall,
  StreamFlow,
  StreamHost,
  StreamSink,
} from '../../core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../core/dispatch/streams/readers.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  errorOutcome,
  type Outcome,
  type Reply,
  type ReplySink,
  resultReply,
} from '../../core/protocol/reply.ts';
import { Catalogue } from './catalogue.ts';
import {
  give,
  type McpRequest,
  type Message,
  type ProgressOutlet,
  type Source,
} from './message.ts';
import { errorText, type McpAnswer, McpCode } from './protocol.ts';
import type { Tool } from './tool.ts';
import { headOf, type ResultStyle, ToolReply } from './tool-result.ts';

/** The catalogue of one state of the service, or the promise of it while its tools are made. */
interface Known {
  readonly served: ServedProcedures;
  catalogue: Catalogue | Promise<Catalogue>;
}

export class Tools {
  readonly #service: Service;
  readonly #patterns: readonly string[];
  #known: Known | undefined;

  /** @param patterns of the procedures that are offered; empty: all */
  constructor(service: Service, patterns: readonly string[]) {
    this.#service = service;
    this.#patterns = patterns;
  }

  /** The tools there are, once something is served; undefined: nothing is any more. */
  catalogue(): Catalogue | undefined | Promise<Catalogue | undefined> {
    const served = this.#service.served();
    return served instanceof Promise
      ? served.then((procedures) => procedures && this.#catalogueOf(procedures))
      : served && this.#catalogueOf(served);
  }

  /** @param tail members after the tools, each with a comma before it */
  async list({ message, id }: McpRequest, style: ResultStyle, tail: string): Promise<string> {
    const { era, maxReplyBytes } = style;
    const catalogue = await this.catalogue();
    if (catalogue === undefined) return ended(id);
    const page = await catalogue.page(message.cursor, era);
    if (page === undefined) {
      return errorText(id, McpCode.InvalidParams, 'cursor is none that this server gave');
    }
    const { text, nextCursor } = page;
    const next = nextCursor === undefined ? '' : `,"nextCursor":"${nextCursor}"`;
    const reply = resultReply(id, `${headOf(era)}"tools":[${text}]${next}${tail}}`);
    if (Buffer.byteLength(reply) <= maxReplyBytes) return reply;
    // Schemas of megabytes: there are 500 tools on a page.
    const limit = { limit: maxReplyBytes };
    return errorText(id, McpCode.InternalError, 'the list is larger than maxReplyBytes', limit);
  }

  call(asked: McpRequest, style: ResultStyle): void {
    const catalogue = this.catalogue();
    if (catalogue instanceof Promise)
      void catalogue.then((found) => this.#call(asked, style, found));
    else this.#call(asked, style, catalogue);
  }

  #call(asked: McpRequest, style: ResultStyle, catalogue: Catalogue | undefined): void {
    const { message, id, sink } = asked;
    const tool = catalogue === undefined ? ended(id) : toolOf(catalogue, message, id);
    if (typeof tool === 'string') sink.onReply(tool);
    else new ToolCall(tool, asked, style).run(this.#service);
  }

  #catalogueOf(served: ServedProcedures): Catalogue | Promise<Catalogue> {
    let known = this.#known;
    if (known?.served.table !== served.table || known.served.version !== served.version) {
      known = { served, catalogue: Catalogue.of(served.table, this.#patterns) };
      this.#known = known;
      void this.#settle(known);
    }
    return known.catalogue;
  }

  /** Calls wait for no promise once the tools are there. */
  async #settle(known: Known): Promise<void> {
    known.catalogue = await known.catalogue;
  }
}

function ended(id: string): string {
  return errorText(id, McpCode.InternalError, 'the service has ended');
}

/** The tool that a message names; or the error of a message that names none, or has arguments that can't be. */
function toolOf(catalogue: Catalogue, message: Message, id: string): Tool | string {
  const { name } = message;
  const wrong = (reason: string): string => errorText(id, McpCode.InvalidParams, reason);
  if (name === undefined) return wrong('name must be a string');
  const tool = catalogue.find(name);
  if (tool === undefined) {
    return wrong(`Unknown tool: ${name}${didYouMean(catalogue.nearest(name))}`);
  }
  return message.arguments === 'wrong' ? wrong('arguments must be an object') : tool;
}

/** One call of a tool: goes to the service as the call of its procedure, and comes back as a result of MCP. */
class ToolCall extends ToolReply implements ReplySink {
  readonly #asked: McpRequest;
  #stream: ToolStream | undefined;

  constructor(tool: Tool, asked: McpRequest, style: ResultStyle) {
    super(tool, asked.id, style);
    this.#asked = asked;
  }

  run(service: Service): void {
    const { source, message, scope } = this.#asked;
    if (this.tool.procedure.stream !== undefined) this.#readStream(this.#asked);
    service.handle(callBody(source, message, this.tool), scope, this);
  }

  onReply(reply: Reply): void {
    const { sink } = this.#asked;
    const answer = this.#toAnswer(reply);
    give(answer, this.id, sink);
  }

  #toAnswer(reply: Reply): McpAnswer | Promise<McpAnswer> {
    if (reply !== undefined) return this.writeReply(reply);
    // The stream has opened: its end is the answer, or the transport writes all of it.
    return this.#stream?.hasOpened === true ? this.#stream.ended : undefined;
  }

  #readStream({ message, scope, client }: McpRequest): void {
    const token = message.meta?.progressToken;
    const notes = token === undefined ? undefined : new ProgressNotes(token);
    const stream = new ToolStream(this, notes, client.outlet);
    if (notes !== undefined && client.events !== undefined) {
      scope.streams = client.events(
        (value) => stream.note(value),
        (ended) => stream.reply(ended),
      );
    } else {
      this.#stream = stream;
      scope.streams = stream;
    }
  }
}

/** The request of JSON-RPC that a call of a tool stands for. The arguments are what they were, to the letter. */
function callBody(source: Source, { id = 'null', arguments: given }: Message, tool: Tool): Source {
  const head = `{"jsonrpc":"2.0","id":${id},"method":"${tool.procedure.name}"`;
  if (given === 'none' || given === 'wrong') return `${head}}`;
  const { start, end } = given;
  if (typeof source === 'string') return `${head},"params":${source.slice(start, end)}}`;
  const args = source.subarray(start, end);
  return Buffer.concat([Buffer.from(`${head},"params":`), args, Buffer.from('}')]);
}

/**
 * The stream of a call, whose end is the call's own. Its values are notifications of progress if the client asked for them, and
 * the result of the call if its procedure lets them be gathered. Any other call's result is what its generator returns.
 */
class ToolStream implements StreamHost, StreamSink {
  /** If nobody hears of progress, the call's own deadlines hold for all of it. */
  readonly isCollected: boolean;
  hasOpened = false;
  /** The reply to the call. Not of a stream that the transport writes. */
  readonly ended: Promise<string>;
  readonly #call: ToolReply;
  readonly #notes: ProgressNotes | undefined;
  readonly #outlet: ProgressOutlet | undefined;
  readonly #texts: string[] | undefined;
  #left: number;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  #settle!: (reply: string) => void;

  /** @param notes undefined: the client does not want to hear of progress */
  constructor(
    call: ToolReply,
    notes: ProgressNotes | undefined,
    outlet: ProgressOutlet | undefined,
  ) {
    this.#call = call;
    this.#notes = notes;
    this.#outlet = notes && outlet;
    this.isCollected = this.#outlet === undefined;
    this.#texts = call.tool.procedure.stream?.collect === true ? [] : undefined;
    this.#left = call.style.maxReplyBytes;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  accept(_call: StreamCall): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): Reply {
    this.hasOpened = true;
    this.#flow = flow;
    this.#window = new ValueWindow(flow);
    this.#window.open();
    return undefined;
  }

  value(text: string): void {
    if (!this.#gather(text)) {
      this.#flow?.cancel();
      this.end(nothing);
      return;
    }
    const note = this.#outlet && this.#notes?.notification(text);
    this.#window?.add(text.length);
    const taken = (): void => this.#window?.taken();
    if (note === undefined) taken();
    else this.#outlet?.(note, taken);
  }

  end(outcome: Outcome): void {
    this.#settle(this.reply(outcome));
  }

  note(value: string): string {
    this.#gather(value);
    return this.#notes?.notification(value) ?? '';
  }

  reply(ended: Outcome): string {
    const { maxReplyBytes } = this.#call.style;
    if (this.#left < 0) {
      return this.#call.textOf(errorOutcome(ErrorCode.LimitExceeded, { limit: maxReplyBytes }));
    }
    if (!ended.ok || this.#texts === undefined) return this.#call.textOf(ended);
    return this.#call.textOf({ ok: true, code: 0, text: `[${this.#texts.join(',')}]` });
  }

  /** @returns false: what is gathered is too large, and the call may as well end */
  #gather(text: string): boolean {
    if (this.#texts === undefined) return true;
    this.#left -= Buffer.byteLength(text) + 1;
    if (this.#left < 0) this.#texts.length = 0;
    else this.#texts.push(text);
    return this.#left >= 0;
  }
}

const nothing: Outcome = { ok: true, code: 0, text: 'null' };

/** Longer messages are cut: they are for people. */
const maxMessageLength = 2000;

/** Longer values are not parsed to see what they say of progress. */
const maxReportLength = 4096;

/**
 * Writes the values of one stream as notifications of progress. A value with a number `progress` says itself how far the
 * call is; any other value counts as one step, and is shown.
 */
class ProgressNotes {
  /** JSON text. */
  readonly #token: string;
  #last: number | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  /** @param value JSON text of a value that was yielded */
  notification(value: string): string {
    const { progress, total, message } = reportOf(value);
    const last = this.#last;
    // It must grow with each notification.
    const isGrowing = progress !== undefined && (last === undefined || progress > last);
    const now = isGrowing ? progress : (last ?? 0) + 1;
    this.#last = now;
    const whole = isGrowing && total !== undefined ? `,"total":${total}` : '';
    const words = message === undefined ? '' : `,"message":${message}`;
    return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${this.#token},"progress":${now}${whole}${words}}}`;
  }
}

interface Report {
  readonly progress?: number;
  readonly total?: number | undefined;
  /** JSON text. */
  readonly message?: string | undefined;
}

function reportOf(value: string): Report {
  if (value.length <= maxReportLength && value.includes('"progress":')) {
    const parsed: unknown = JSON.parse(value);
    if (isObject(parsed) && typeof parsed.progress === 'number') {
      const { progress, total, message } = parsed;
      return {
        progress,
        total: typeof total === 'number' ? total : undefined,
        message:
          typeof message === 'string'
            ? JSON.stringify(shortened(message, maxMessageLength))
            : undefined,
      };
    }
  }
  if (value === 'null') return {};
  const isShortString = value.startsWith('"') && value.length <= maxMessageLength;
  return { message: isShortString ? value : JSON.stringify(shortened(value, maxMessageLength)) };
}
