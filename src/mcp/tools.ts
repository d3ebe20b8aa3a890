import type { ServedProcedures, Service } from '../dispatch/service.ts';
import { resultReply } from '../jsonrpc/reply.ts';
import { errorText, McpCode } from './answer.ts';
import { Catalogue } from './catalogue.ts';
import type { Answered, Asked } from './client.ts';
import { ToolCall } from './tool-call.ts';
import type { ResultStyle } from './tool-result.ts';

/** The catalogue of one state of the service, or while many tools are made the promise of it. */
interface Known {
  readonly served: ServedProcedures;
  catalogue: Catalogue | Promise<Catalogue>;
}

type Asking = Catalogue | undefined | Promise<Catalogue | undefined>;

/** Lists the tools of a service, and calls them. */
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
  catalogue(): Asking {
    const served = this.#service.served();
    return served instanceof Promise
      ? served.then((procedures) => procedures && this.#catalogueOf(procedures))
      : served && this.#catalogueOf(served);
  }

  /** @param tail members behind the tools, each with a comma before it */
  list({ message, id }: Asked, style: ResultStyle, tail: string): string | Promise<string> {
    const { era, maxReplyBytes } = style;
    const answer = (catalogue: Catalogue | undefined): string | Promise<string> => {
      if (catalogue === undefined) return ended(id);
      const page = catalogue.page(message.cursor, era);
      if (page === undefined) {
        return errorText(id, McpCode.InvalidParams, 'cursor is none that this server gave');
      }
      return page.then(({ text, nextCursor }) => {
        const next = nextCursor === undefined ? '' : `,"nextCursor":"${nextCursor}"`;
        const type = era === 'modern' ? '"resultType":"complete",' : '';
        const reply = resultReply(id, `{${type}"tools":[${text}]${next}${tail}}`);
        return Buffer.byteLength(reply) <= maxReplyBytes ? reply : tooLong(id, maxReplyBytes);
      });
    };
    const catalogue = this.catalogue();
    return catalogue instanceof Promise ? catalogue.then(answer) : answer(catalogue);
  }

  call(asked: Asked, style: ResultStyle): Answered {
    const catalogue = this.catalogue();
    if (!(catalogue instanceof Promise)) return this.#call(asked, style, catalogue);
    // Without a sink nothing goes to one.
    const alone = { ...asked, sink: undefined };
    return catalogue.then((found) => this.#call(alone, style, found) as Exclude<Answered, symbol>);
  }

  #call(asked: Asked, style: ResultStyle, catalogue: Catalogue | undefined): Answered {
    const { message, id } = asked;
    const { name } = message;
    if (catalogue === undefined) return ended(id);
    if (name === undefined) return errorText(id, McpCode.InvalidParams, 'name must be a string');
    const tool = catalogue.find(name);
    if (tool === undefined) {
      const nearest = catalogue.nearest(name);
      const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
      return errorText(id, McpCode.InvalidParams, `Unknown tool: ${name}${hint}`);
    }
    if (message.arguments === 'wrong') {
      return errorText(id, McpCode.InvalidParams, 'arguments must be an object');
    }
    return new ToolCall({ tool, id, style }, this.#service).run(asked);
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

/** Schemas of megabytes: there are 500 tools on a page. */
function tooLong(id: string, limit: number): string {
  return errorText(id, McpCode.InternalError, 'the list is larger than maxReplyBytes', { limit });
}

function ended(id: string): string {
  return errorText(id, McpCode.InternalError, 'the service has ended');
}
