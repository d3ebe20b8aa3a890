/** Bytes that may be on their way to the server: small messages of others must not wait behind more. */
export const unflushedBytes = 512 * 1024;

/** Bytes of one message of a large body: what is larger is cut. */
export const partBytes = 128 * 1024;

/** A body, or a reply, of more bytes is cut into parts. */
export const wholeBytes = 256 * 1024;
