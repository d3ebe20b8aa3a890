import { withoutMarks } from '../../core/modules/module-url.ts';
import type { FilePlace, SourcePlace } from '../../core/workers/code-places.ts';

/**
 * Reads and changes a profile as V8 has written it, without parsing the whole of it: that would hold the main thread for some
 * milliseconds a thread, and the profile leaves as text again.
 */

/** A node up to its counts: its number, then where its function begins. */
const nodeHead = /\{"id":(\d+),"callFrame":(\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\})/g;

/** How often which lines were met, by lines of the compiled code. */
const ticks = /,"positionTicks":\[[^\]]*\]/g;

interface CallFrame {
  readonly functionName: string;
  readonly scriptId: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** The text of the first procedures of a place that several share. */
const mostShared = 5;

export function scriptPlaceKey(scriptId: string, line: number, column: number): string {
  return `${scriptId}:${line}:${column}`;
}

/** The places of functions that a source map may know, each once. */
export function filePlacesIn(text: string): FilePlace[] {
  const places = new Map<string, FilePlace>();
  for (const [, , frame = ''] of text.matchAll(nodeHead)) {
    if (!frame.includes('"url":"file:')) continue;
    const { url, lineNumber, columnNumber } = JSON.parse(frame) as CallFrame;
    places.set(keyOf(url, lineNumber, columnNumber), [url, lineNumber, columnNumber]);
  }
  return [...places.values()];
}

/**
 * Gives functions the places in their sources, and says which nodes are handlers.
 *
 * @param handlers procedures by the places of their handlers: see {@link scriptPlaceKey}
 * @param places what `filePlacesIn` has returned, and `sources` what is known of each
 */
export function inSources(
  text: string,
  handlers: ReadonlyMap<string, readonly string[]>,
  places: readonly FilePlace[],
  sources: readonly (SourcePlace | null)[],
): { readonly profile: string; readonly procedures: Readonly<Record<string, number[]>> } {
  const mapped = new Map<string, SourcePlace>();
  for (const [at, [url, line, column]] of places.entries()) {
    const source = sources[at];
    if (source !== undefined && source !== null) mapped.set(keyOf(url, line, column), source);
  }
  const procedures: Record<string, number[]> = {};
  const changed = text.replace(nodeHead, (whole, id: string, frame: string) => {
    const { functionName, scriptId, url, lineNumber, columnNumber } = JSON.parse(
      frame,
    ) as CallFrame;
    const names = handlers.get(scriptPlaceKey(scriptId, lineNumber, columnNumber));
    if (names !== undefined) {
      const label = labelOf(names);
      procedures[label] ??= [];
      procedures[label].push(Number(id));
    }
    const source = mapped.get(keyOf(url, lineNumber, columnNumber));
    // After a reload the main thread has loaded a file under another URL than the workers.
    const plain = withoutMarks(source?.[0] ?? url);
    if (source === undefined && plain === url) return whole;
    const [, line, column, name = ''] = source ?? [plain, lineNumber, columnNumber];
    const moved: CallFrame = {
      functionName: functionName === '' ? name : functionName,
      scriptId,
      url: plain,
      lineNumber: line,
      columnNumber: column,
    };
    return `{"id":${id},"callFrame":${JSON.stringify(moved)}`;
  });
  return { profile: mapped.size === 0 ? changed : changed.replace(ticks, ''), procedures };
}

function keyOf(url: string, line: number, column: number): string {
  return `${line}:${column}:${url}`;
}

/** Handlers that one factory has made can't be told apart. */
function labelOf(names: readonly string[]): string {
  const shown = names.slice(0, mostShared).join(' or ');
  const rest = names.length - mostShared;
  return rest > 0 ? `${shown} or ${rest} more` : shown;
}
