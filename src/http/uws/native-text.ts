/** Text or bytes as the native code may be given them. */
export type NativeText = (data: string | Uint8Array) => string | Uint8Array;

/**
 * The binaries for Node 23 and later send a string that V8 holds in one byte for each character as Latin-1 (issue 1280
 * of uWebSockets.js). They read it by `String::ValueView`, which older versions of V8 do not have. Those for Node 22
 * and earlier send UTF-8. See docs/architecture.md, "uWebSockets.js".
 *
 * @param modules `process.versions.modules`, by which a binary is chosen
 */
export function createNativeText(modules: string): NativeText {
  return Number(modules) <= lastRight ? (data) => data : asciiOrBytes;
}

/** That of Node 22, whose V8 is the last one without `String::ValueView`. */
const lastRight = 127;

function asciiOrBytes(data: string | Uint8Array): string | Uint8Array {
  if (typeof data !== 'string' || Buffer.byteLength(data) === data.length) return data;
  return Buffer.from(data);
}

/**
 * Everything that is sent through a response or a WebSocket of uWebSockets.js, and is not a constant, passes through
 * here. Where the binary sends all strings right, this function does nothing.
 */
export const nativeText: NativeText = createNativeText(process.versions.modules);
