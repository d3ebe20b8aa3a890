/** The first request of some bytes, where nobody can read it in two ways (RFC 9112). */
export interface StrictRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** Host names a host; false: nobody could take it for one. */
  readonly hasHost: boolean;
  /** Something stands behind it. */
  readonly isFollowed: boolean;
}

const requestLine = /^(GET|POST|PUT|OPTIONS) (\/[!-"$-~]*) HTTP\/1\.1$/;
// Names with other marks are allowed, and rare: uWebSockets.js refuses them.
const headerLine = /^([0-9A-Za-z-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)?[ \t]*$/;

/** Those that change how a request is read, or when it is answered. */
const leftAlone = new Set([
  'connection',
  'expect',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'proxy-connection',
]);

/** RFC 3986, 3.2.2 and 3.2.3: a name or an address, then perhaps a port. */
const hostGrammar =
  /^(?:\[[0-9A-Fa-f:.]+\]|(?:[0-9A-Za-z._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::\d*)?$/;
/** What stands in no host, wherever it stands. */
const inNoHost = /[^0-9A-Za-z._~!$&'()*+,;=%:[\]-]/;

/** undefined: anything about it is in doubt, or it is not all there. */
export function strictRequest(bytes: Buffer): StrictRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1 || end > 8000) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, method, target] = requestLine.exec(first) ?? [];
  if (method === undefined || target === undefined || lines.length > 90) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    const key = name?.toLowerCase();
    if (key === undefined || headers.has(key) || leftAlone.has(key)) return undefined;
    headers.set(key, value);
  }
  const host = headers.get('host') ?? '';
  const hasHost = hostGrammar.test(host);
  if (!hasHost && !inNoHost.test(host)) return undefined;
  const rest = bytes.subarray(end + 4);
  const coding = headers.get('transfer-encoding');
  const read = coding === undefined ? ofLength(rest, headers) : inChunks(rest, coding, headers);
  if (read === undefined) return undefined;
  return { method, path: target.split('?', 1)[0] ?? '', headers, hasHost, ...read };
}

type BodyRead = Pick<StrictRequest, 'body' | 'isFollowed'>;

function ofLength(rest: Buffer, headers: StrictRequest['headers']): BodyRead | undefined {
  const length = headers.get('content-length') ?? '0';
  if (!/^\d{1,6}$/.test(length) || rest.length < Number(length)) return undefined;
  return { body: rest.subarray(0, Number(length)), isFollowed: rest.length > Number(length) };
}

/** Chunks without extensions and trailers, which are allowed, and which uWebSockets.js reads otherwise. */
function inChunks(
  rest: Buffer,
  coding: string,
  headers: StrictRequest['headers'],
): BodyRead | undefined {
  if (coding.toLowerCase() !== 'chunked' || headers.has('content-length')) return undefined;
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = rest.indexOf('\r\n', at);
    const size = line === -1 ? '' : rest.subarray(at, line).toString('latin1');
    if (!/^[\dA-Fa-f]{1,5}$/.test(size)) return undefined;
    const length = Number.parseInt(size, 16);
    const chunk = rest.subarray(line + 2, line + 2 + length);
    at = line + 2 + length + 2;
    if (rest.subarray(at - 2, at).toString() !== '\r\n') return undefined;
    if (length === 0) return { body: Buffer.concat(chunks), isFollowed: at < rest.length };
    chunks.push(chunk);
  }
}
