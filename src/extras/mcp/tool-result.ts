import { isObject } from '../../core/base/value-kinds.ts';
import { ErrorCode, standardErrorText } from '../../core/protocol/errors.ts';
import {
  contentOf,
  type Outcome,
  resultOutcome,
  resultReply,
  textExceeds,
} from '../../core/protocol/reply.ts';
import type { Era, Tool } from './tool.ts';

export interface ResultStyle {
  readonly era: Era;
  /** What every result of a modern client has after its own members; empty for legacy ones. */
  readonly tail: string;
  readonly maxReplyBytes: number;
}

/** Longer error texts are shown as they are: who threw megabytes does not get them parsed here. */
const maxErrorLength = 64 * 1024;

const QUOTE = 0x22;

/** How the JSON of content begins: its members stand in the order of their schema. */
const contentStart = '{"content":[';

/** What stands before the members of a result. */
export function headOf(era: Era): string {
  return era === 'modern' ? '{"resultType":"complete",' : '{';
}

export class ToolReply {
  readonly tool: Tool;
  /** JSON text. */
  readonly id: string;
  readonly style: ResultStyle;

  constructor(tool: Tool, id: string, style: ResultStyle) {
    this.tool = tool;
    this.id = id;
    this.style = style;
  }

  /**
   * Whatever a call comes to is a result: a model reads what went wrong and can do better, but an error of the protocol
   * would end at its host.
   */
  textOf(outcome: Outcome): string {
    const { tool, style, id } = this;
    const { ok, text } = outcome;
    const reply = resultReply(id, ok ? okResult(tool, style, text) : errorResult(style, text));
    if (!textExceeds(reply, style.maxReplyBytes)) return reply;
    return resultReply(id, errorResult(style, tooLarge(style)));
  }

  /** @param reply of the service, made for the same id */
  writeReply(reply: string | Uint8Array): string | Promise<string | Uint8Array> {
    const content = contentOf(this.id, reply);
    if ('error' in content) {
      return this.textOf({ ok: false, code: ErrorCode.InternalError, text: content.error });
    }
    const { result } = content;
    return typeof result === 'string'
      ? this.textOf(resultOutcome(result))
      : this.#longReply(result);
  }

  /**
   * As `textOf`, for a result that came as bytes since it is long. It stands in the reply twice, as a text and as a value; it is
   * never made a string, and quoted in slices between which calls run.
   *
   * @param text JSON
   */
  async #longReply(text: Buffer): Promise<string | Uint8Array> {
    const { id, style, tool } = this;
    const isString = text[0] === QUOTE;
    const asItIs =
      tool.procedure.tool === 'content' &&
      text.toString('latin1', 0, contentStart.length) === contentStart;
    const { era, tail, maxReplyBytes } = style;
    const parts: (string | Buffer)[] = [`{"jsonrpc":"2.0","id":${id},"result":${headOf(era)}`];
    if (asItIs) {
      parts.push(text.subarray(1, -1));
    } else {
      parts.push('"content":[{"type":"text","text":');
      if (isString) parts.push(text);
      else parts.push('"', ...(await quoted(text)), '"');
      parts.push('}]');
      if (tool.isStructured) {
        const [before = '', after = ''] = structuredPart(tool, era, '|').split('|');
        parts.push(before, text, after);
      }
    }
    parts.push(`${tail}}}`);
    let length = 0;
    for (const part of parts) length += Buffer.byteLength(part);
    if (length > maxReplyBytes) {
      const error = { ok: false, code: ErrorCode.LimitExceeded, text: tooLarge(style) };
      return this.textOf(error);
    }
    return Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)),
    );
  }
}

/** The error of a result that is too large: it stands in a reply twice, as text and as a value. */
function tooLarge({ maxReplyBytes }: ResultStyle): string {
  return standardErrorText(ErrorCode.LimitExceeded, { limit: maxReplyBytes });
}

/** @param text JSON of what the procedure returned */
function okResult(tool: Tool, style: ResultStyle, text: string): string {
  const { era, tail } = style;
  // The procedure has given content itself, by a schema that lets nothing else through.
  if (tool.procedure.tool === 'content' && text.startsWith(contentStart)) {
    return `${headOf(era)}${text.slice(1, -1)}${tail}}`;
  }
  // JSON of a string is the text itself, quoted already.
  const shown = text.charCodeAt(0) === QUOTE ? text : JSON.stringify(text);
  const structured = tool.isStructured ? structuredPart(tool, era, text) : '';
  return `${headOf(era)}"content":[{"type":"text","text":${shown}}]${structured}${tail}}`;
}

function structuredPart(tool: Tool, era: Era, text: string): string {
  return era === 'legacy' && !tool.isObject
    ? `,"structuredContent":{"result":${text}}`
    : `,"structuredContent":${text}`;
}

/** @param text JSON of the error */
function errorResult({ era, tail }: ResultStyle, text: string): string {
  const shown = JSON.stringify(errorShown(text));
  return `${headOf(era)}"content":[{"type":"text","text":${shown}}],"isError":true${tail}}`;
}

/** An error as a model reads it. */
function errorShown(text: string): string {
  if (text.length > maxErrorLength) return text;
  const { code, message, data } = JSON.parse(text) as {
    readonly code: number;
    readonly message: string;
    readonly data?: unknown;
  };
  if (code === ErrorCode.InvalidParams && isIssueList(data)) {
    const lines = data.map(({ path, message: why }) => `- ${path === '' ? '' : `${path}: `}${why}`);
    return ['Invalid arguments:', ...lines].join('\n');
  }
  const head = `${message} (${code})`;
  return data === undefined ? head : `${head}\n${JSON.stringify(data)}`;
}

function isIssueList(data: unknown): data is readonly { path: string; message: string }[] {
  return (
    Array.isArray(data) &&
    data.length > 0 &&
    data.every(
      (one) => isObject(one) && typeof one.path === 'string' && typeof one.message === 'string',
    )
  );
}

/** Bytes of a text that are quoted in one turn of the event loop, in which nobody else is served. */
const sliceBytes = 128 * 1024;

/** JSON text as the inside of a JSON string. */
async function quoted(text: Buffer): Promise<Buffer[]> {
  const slices: Buffer[] = [];
  for (let start = 0; start < text.length; start += sliceBytes) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve));
    // One character a byte: what must be quoted is ASCII, and no byte within a longer character looks like it.
    const slice = text.toString('latin1', start, start + sliceBytes);
    slices.push(Buffer.from(JSON.stringify(slice).slice(1, -1), 'latin1'));
  }
  return slices;
}
