import type { ServedProcedures, Service } from '../dispatch/service.ts';
import { errorText, McpCode, resultText } from './answer.ts';
import { Catalogue } from './catalogue.ts';
import type { Answered, Asked } from './client.ts';
import { ToolCall } from './tool-call.ts';
import type { ResultStyle } from './tool-result.ts';

/** Lists the tools of a service, and calls them. */
export class Tools {
  readonly #service: Service;
  readonly #patterns: readonly string[];
  #known: { readonly served: ServedProcedures; readonly catalogue: Catalogue } | undefined;

  /** @param patterns of the procedures that are offered; empty: all */
  constructor(service: Service, patterns: readonly string[]) {
    this.#service = service;
    this.#patterns = patterns;
  }

  /** The tools there are now; undefined: nothing is served yet, or any more. */
  get catalogue(): Catalogue | undefined {
    const served = this.#service.served();
    return served instanceof Promise ? undefined : served && this.#catalogueOf(served);
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
        const reply = resultText(id, `{${type}"tools":[${text}]${next}${tail}}`);
        return Buffer.byteLength(reply) <= maxReplyBytes ? reply : tooLong(id, maxReplyBytes);
      });
    };
    const catalogue = this.#whenServed();
    return catalogue instanceof Promise ? catalogue.then(answer) : answer(catalogue);
  }

  call(asked: Asked, style: ResultStyle): Answered {
    const catalogue = this.#whenServed();
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

  #whenServed(): Catalogue | undefined | Promise<Catalogue | undefined> {
    const served = this.#service.served();
    return served instanceof Promise
      ? served.then((procedures) => procedures && this.#catalogueOf(procedures))
      : served && this.#catalogueOf(served);
  }

  #catalogueOf(served: ServedProcedures): Catalogue {
    const known = this.#known;
    if (known?.served.table === served.table && known.served.version === served.version) {
      return known.catalogue;
    }
    const catalogue = new Catalogue(served.table, this.#patterns);
    this.#known = { served, catalogue };
    return catalogue;
  }
}

/** Schemas of megabytes: there are 500 tools on a page. */
function tooLong(id: string, limit: number): string {
  return errorText(id, McpCode.InternalError, 'the list is larger than maxReplyBytes', { limit });
}

function ended(id: string): string {
  return errorText(id, McpCode.InternalError, 'the service has ended');
}
