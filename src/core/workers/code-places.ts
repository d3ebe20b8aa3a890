import type { Runtime } from 'node:inspector';
import { createRequire, findSourceMap } from 'node:module';

/** A place in the code that a thread runs, as V8 counts: lines and columns begin at 0. */
export type ScriptPlace = readonly [scriptId: string, line: number, column: number];

/** Where the handlers of procedures begin. Handlers that one factory has made begin at the same place. */
export type HandlerPlace = readonly [...place: ScriptPlace, procedures: readonly string[]];

/** A place by its file instead of its script. */
export type FilePlace = readonly [url: string, line: number, column: number];

/** A place before the code was compiled; `name`: of the function, where the source map has it. */
export type SourcePlace = readonly [...place: FilePlace, name?: string];

/** What a thread answers about the code that it has loaded. */
export interface CodePlaces {
  readonly handlers: readonly HandlerPlace[];
  /** For each place that was asked for; null: no source map says where it comes from. */
  readonly sources: readonly (SourcePlace | null)[];
}

/** A handler and the name of its procedure. */
export type NamedHandler = readonly [procedure: string, handler: object];

const load = createRequire(import.meta.url);
const handlersKey = Symbol.for('tandem-rpc.handlers');
const askKey = Symbol.for('tandem-rpc.codePlaces');
const holder = globalThis as { [handlersKey]?: readonly object[]; [askKey]?: unknown };

/**
 * Where handlers begin: V8 tells it by the inspector's protocol alone. About 0.1 ms for each.
 *
 * @throws Error if this process may not use the inspector
 */
export function placeHandlers(handlers: readonly NamedHandler[]): HandlerPlace[] {
  // Few services ever need it.
  const { Session } = load('node:inspector') as typeof import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    const propertiesOf = (objectId: string): Runtime.GetPropertiesReturnType => {
      let properties: Runtime.GetPropertiesReturnType = { result: [] };
      // To its own thread a session posts synchronously.
      session.post('Runtime.getProperties', { objectId, ownProperties: true }, (error, found) => {
        if (error === null) properties = found;
      });
      return properties;
    };
    const placeOf = (objectId: string): ScriptPlace | undefined => {
      const { internalProperties = [] } = propertiesOf(objectId);
      for (const { name, value } of internalProperties) {
        if (name === '[[FunctionLocation]]' && value !== undefined) {
          const { scriptId, lineNumber, columnNumber } = value.value as Location;
          return [scriptId, lineNumber, columnNumber ?? 0];
        }
        // What `bind` has made.
        if (name === '[[TargetFunction]]' && value?.objectId !== undefined)
          return placeOf(value.objectId);
      }
      return undefined;
    };
    let list: string | undefined;
    holder[handlersKey] = handlers.map(([, handler]) => handler);
    const expression = "globalThis[Symbol.for('tandem-rpc.handlers')]";
    session.post('Runtime.evaluate', { expression, silent: true }, (error, { result }) => {
      if (error === null) list = result.objectId;
    });
    delete holder[handlersKey];
    if (list === undefined) return [];
    const places = new Map<string, { place: ScriptPlace; procedures: string[] }>();
    for (const { name, value } of propertiesOf(list).result) {
      const procedure = handlers[Number(name)]?.[0];
      if (procedure === undefined || value?.objectId === undefined) continue;
      const place = placeOf(value.objectId);
      if (place === undefined) continue;
      const known = places.get(place.join());
      if (known === undefined) places.set(place.join(), { place, procedures: [procedure] });
      else known.procedures.push(procedure);
    }
    return Array.from(places.values(), ({ place, procedures }) => [...place, procedures] as const);
  } finally {
    session.disconnect();
  }
}

/** Where places of loaded files come from, by their source maps. */
export function sourcesOf(places: readonly FilePlace[]): (SourcePlace | null)[] {
  return places.map(([url, line, column]) => {
    const entry = findSourceMap(url)?.findEntry(line, column);
    if (entry === undefined || !('originalSource' in entry)) return null;
    const { originalSource, originalLine, originalColumn } = entry;
    const name = 'name' in entry && typeof entry.name === 'string' ? [entry.name] : [];
    const source = URL.canParse(originalSource, url) ? new URL(originalSource, url).href : url;
    return [source, originalLine, originalColumn, ...name] as unknown as SourcePlace;
  });
}

/**
 * Lets a profile of this thread ask for places, by {@link codePlacesExpression}: by the inspector, since a thread that computes
 * answers nobody else.
 */
export function answerForCodePlaces(handlers: () => readonly NamedHandler[]): void {
  const answer = (asked: string): string => {
    const places: CodePlaces = {
      handlers: placeHandlers(handlers()),
      sources: sourcesOf(JSON.parse(asked) as FilePlace[]),
    };
    return JSON.stringify(places);
  };
  Object.defineProperty(globalThis, askKey, { value: answer, configurable: true });
}

/** What a worker is to evaluate, to answer with a {@link CodePlaces} as JSON text. */
export function codePlacesExpression(asked: readonly FilePlace[]): string {
  return `globalThis[Symbol.for('tandem-rpc.codePlaces')](${JSON.stringify(JSON.stringify(asked))})`;
}

interface Location {
  readonly scriptId: string;
  readonly lineNumber: number;
  readonly columnNumber?: number;
}
