import { isObject, own } from '../json.ts';
import { canonicalText, type Part, type Place } from './shapes.ts';

/**
 * A text that is equal for schemas that are written in the same way, with all that they refer to. Other schemas with the
 * same values have other texts.
 */
export function closedText(part: Part): string {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const waiting: Place[] = [...part];
  for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
    texts.push(canonicalText(place.schema));
    for (const $ref of referencesIn(place.schema)) {
      const target = place.references.resolve($ref, { ...place, path: 'a schema' });
      if (seen.has(target.schema)) continue;
      seen.add(target.schema);
      texts.push($ref);
      waiting.push({ ...place, schema: target.schema, root: target.root });
    }
  }
  return texts.join('\n');
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const $ref = isObject(value) ? own(value, '$ref') : undefined;
  const own$ref = typeof $ref === 'string' ? [$ref] : [];
  return [...own$ref, ...Object.values(value).flatMap(referencesIn)];
}
