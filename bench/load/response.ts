export interface HttpResponse {
  readonly status: number;
  readonly body: string;
  /** Bytes of the head and the body together. */
  readonly bytes: number;
}

const blankLine = Buffer.from('\r\n\r\n');

/** Reads one whole response; undefined: it is not complete. @throws Error for one with neither length nor chunks */
export function readResponse(all: Buffer): HttpResponse | undefined {
  const headEnd = all.indexOf(blankLine);
  if (headEnd === -1) return undefined;
  const head = all.toString('latin1', 0, headEnd);
  const start = headEnd + blankLine.length;
  const status = Number(head.slice(9, 12));
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    const bytes = start + Number(length);
    if (all.length < bytes) return undefined;
    return { status, body: all.toString('utf8', start, bytes), bytes };
  }
  if (!/^transfer-encoding: *chunked/im.test(head)) {
    throw new Error(`a response that does not say where it ends: ${head}`);
  }
  const chunks = readChunks(all, start);
  return chunks && { status, ...chunks };
}

function readChunks(all: Buffer, start: number): { body: string; bytes: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = all.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(all.toString('latin1', at, lineEnd), 16);
    at = lineEnd + 2;
    const end = at + size + 2;
    if (all.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(parts).toString(), bytes: end };
    parts.push(all.subarray(at, at + size));
    at = end;
  }
}
