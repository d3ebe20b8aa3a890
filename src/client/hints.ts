/** What a client knows of one procedure beyond its types; `tandem codegen` writes it. */
export interface Hint {
  /** Sending the call again does no harm: it is sent again after transport failures and lost workers too. */
  readonly readOnly?: boolean;
  readonly idempotent?: boolean;
  /** The params may hold bytes: each Uint8Array among them is sent as base64. */
  readonly sendsBytes?: boolean;
  /** Where the result has bytes: JSON Pointers, `*` for each item or member. They become a Uint8Array. */
  readonly bytes?: readonly string[];
  /** The same within each value of a stream. */
  readonly yields?: readonly string[];
}

/** By the full names of the procedures. */
export type Hints = Readonly<Record<string, Hint>>;

/** `this` is the object that has the value: the value itself is seen there before a toJSON such as that of a Buffer. */
function replacer(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Uint8Array ? toBase64(given) : value;
}

/**
 * The params as JSON text.
 *
 * @throws TypeError for what JSON can't hold, and for bytes without a hint that says that there are some
 */
export function encode(params: unknown, hint?: Hint): string | undefined {
  const text = JSON.stringify(params, hint?.sendsBytes ? replacer : undefined);
  // Text that may be bytes. To look for them in each value would take longer than to write it.
  if (/\{("0":|})|fer","data/.test(text) && text !== JSON.stringify(params, replacer))
    throw new TypeError('to send bytes, declare Type.Base64() and add hints to createClient');
  return text;
}

/** Turns the base64 texts at the places into bytes, within the result if it has members. */
export function decode(result: unknown, places: readonly string[] = []): unknown {
  return places.reduce<unknown>(
    (value, pointer) => decodeAt(value, pointer.split('/').slice(1)),
    result,
  );
}

function decodeAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return typeof value === 'string' ? fromBase64(value) : value;
  if (typeof value === 'object' && value !== null) {
    const holder = value as Record<string, unknown>;
    const name = step.replace(/~1/g, '/').replace(/~0/g, '~');
    for (const key in holder) {
      if (step === '*' || key === name) holder[key] = decodeAt(holder[key], rest);
    }
  }
  return value;
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  // As many characters as one call of a function takes as its arguments.
  const chunk = 8192;
  for (let start = 0; start < bytes.length; start += chunk)
    // Spread arguments would take ten times as long.
    text += String.fromCharCode.apply(null, bytes.subarray(start, start + chunk) as never);
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  const characters = atob(text);
  // A loop: with a function for each byte, 5 MB take most of a second.
  const bytes = new Uint8Array(characters.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index);
  return bytes;
}
