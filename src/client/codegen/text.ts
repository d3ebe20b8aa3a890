/** Thrown for a document that no contract can be made from. The message says in one line what is wrong, and where. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}

/** A JSON object as it was parsed. Nothing about its members has been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The object's own member of that name. Inherited ones, such as `constructor`, are not found. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function stringOf(object: JsonObject, name: string): string | undefined {
  const value = own(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listOf(object: JsonObject, name: string): readonly unknown[] {
  const value = own(object, name);
  return Array.isArray(value) ? value : [];
}

/** `Pet not found` to `PET_NOT_FOUND`. */
export function constantName(text: string): string {
  const words = text.slice(0, 80).match(/[A-Za-z0-9]+/g) ?? [];
  return words.length === 0 ? 'ERROR' : words.join('_').toUpperCase();
}

/** A value of a document as a message shows it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(typeof value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
