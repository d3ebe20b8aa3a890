import { isObject } from '../jsonrpc/envelope.ts';
import { ErrorCode, standardErrorText } from '../jsonrpc/errors.ts';
import { type Outcome, resultReply } from '../jsonrpc/reply.ts';
import { textExceeds } from '../jsonrpc/utf8.ts';
import type { Era, Tool } from './tool.ts';

/** How results are written for one client. */
export interface ResultStyle {
  readonly era: Era;
  /** What every result of a modern client has behind its own members; empty for legacy ones. */
  readonly tail: string;
  /** Most bytes of a reply. */
  readonly maxReplyBytes: number;
}

/** A call that is answered, and how. */
export interface ToolReply {
  readonly tool: Tool;
  /** JSON text. */
  readonly id: string;
  readonly style: ResultStyle;
}

/** Longer error texts are shown as they are: who threw megabytes does not get them parsed here. */
const longestError = 64 * 1024;

const QUOTE = 0x22;

/** How the JSON of content begins: its members stand in the order of their schema. */
export const contentStart = '{"content":[';

/** What stands in front of the members of a result. */
export function headOf(era: Era): string {
  return era === 'modern' ? '{"resultType":"complete",' : '{';
}

/**
 * The reply to a call. Whatever a call comes to is a result: a model reads what went wrong and can do better, where an
 * error of the protocol would end at its host.
 */
export function toolReply(call: ToolReply, outcome: Outcome): string {
  const { style, id } = call;
  const reply = resultReply(
    id,
    outcome.ok ? okResult(call, outcome.text) : errorResult(call, outcome.text),
  );
  if (!textExceeds(reply, style.maxReplyBytes)) return reply;
  return resultReply(id, errorResult(call, tooLarge(style)));
}

/** The error of a result that is too large: it stands in a reply twice, as text and as a value. */
export function tooLarge({ maxReplyBytes }: ResultStyle): string {
  return standardErrorText(ErrorCode.LimitExceeded, { limit: maxReplyBytes });
}

/** @param text JSON of what the procedure returned */
function okResult({ tool, style }: ToolReply, text: string): string {
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

/** The member that has a result as a value. */
export function structuredPart(tool: Tool, era: Era, text: string): string {
  return era === 'legacy' && !tool.isObject
    ? `,"structuredContent":{"result":${text}}`
    : `,"structuredContent":${text}`;
}

/** @param text JSON of the error */
function errorResult({ style }: ToolReply, text: string): string {
  const { era, tail } = style;
  const shown = JSON.stringify(errorShown(text));
  return `${headOf(era)}"content":[{"type":"text","text":${shown}}],"isError":true${tail}}`;
}

/** An error as a model reads it. */
function errorShown(text: string): string {
  if (text.length > longestError) return text;
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

/**
 * What a reply of the service says: its result or its error. It was made for the same id, so that nothing is parsed.
 *
 * @param id JSON text
 */
export function outcomeOf(id: string, reply: string): Outcome {
  const head = `{"jsonrpc":"2.0","id":${id},`;
  if (reply.startsWith(head)) {
    const result = head.length + '"result":'.length;
    if (reply.startsWith('"result":', head.length)) {
      return { ok: true, code: 0, text: reply.slice(result, -1) };
    }
    return failed(reply.slice(head.length + '"error":'.length, -1));
  }
  // The service answers with the id null where it ended before it read the call.
  const { error } = JSON.parse(reply) as { readonly error?: unknown };
  return failed(JSON.stringify(error ?? { code: ErrorCode.InternalError, message: 'no answer' }));
}

function failed(text: string): Outcome {
  return { ok: false, code: ErrorCode.InternalError, text };
}
