import { readFileSync } from 'node:fs';
import { messageOf } from '../../base/message-of.ts';
import { StartupError } from '../../base/startup-error.ts';

/** Where and as whom to connect, as the configuration has it; the empty text where nothing is given. */
export interface LoginOptions {
  /** `nats://host:4222`, `tls://user:password@host`, `host:4222`. */
  readonly servers: readonly string[];
  /** Paths of files. */
  readonly creds: string;
  readonly nkey: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Milliseconds in which a server must have answered. */
  readonly startTimeoutMs: number;
  /** What the server shows in its list of connections. */
  readonly name: string;
}

export interface Login {
  /** `host:port`, without credentials, which the client would not read there. */
  readonly hosts: readonly string[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly token: string | undefined;
  /** Paths of PEM files, undefined where TLS is up to the server. */
  readonly tls: { caFile?: string; certFile?: string; keyFile?: string } | undefined;
}

/**
 * @throws StartupError where servers are given different credentials, two ways to log in are given, or a file can't
 *   be read
 */
export function toLogin(options: LoginOptions): Login {
  const urls = options.servers.map(
    (server) => new URL(server.includes('://') ? server : `nats://${server}`),
  );
  const [first] = urls;
  if (first === undefined) throw new StartupError('option nats: name a server, nats://host:4222');
  if (urls.some((url) => url.username !== first.username || url.password !== first.password)) {
    throw new StartupError(
      'option nats: the servers of one cluster share their users; give each URL the same name and password',
    );
  }
  const name = decode(first.username);
  const password = decode(first.password);
  const byFile = options.creds === '' ? 'natsNkey' : 'natsCreds';
  if (name !== '' && (options.creds !== '' || options.nkey !== '')) {
    throw new StartupError(
      `option ${byFile}: the URL of the server logs in already; leave out one of the two`,
    );
  }
  for (const file of ['creds', 'nkey', 'ca', 'cert', 'key'] as const) {
    if (options[file] !== '') assertReadable(file, options[file]);
  }
  const isToken = name !== '' && first.password === '';
  return {
    hosts: urls.map((url) => (url.port === '' ? `${url.hostname}:4222` : url.host)),
    user: name === '' || isToken ? undefined : name,
    password: isToken ? undefined : password,
    token: isToken ? name : undefined,
    tls: toTls(options, urls),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw new StartupError(
      'option nats: a % in the name or password of a URL is written as %25, and so are other signs: %40 is @',
      { cause: error },
    );
  }
}

function toTls({ ca, cert, key }: LoginOptions, urls: readonly URL[]): Login['tls'] {
  if (ca === '' && cert === '' && urls.every((url) => url.protocol !== 'tls:')) return undefined;
  return {
    ...(ca !== '' && { caFile: ca }),
    ...(cert !== '' && { certFile: cert, keyFile: key }),
  };
}

const optionOf = {
  creds: 'natsCreds',
  nkey: 'natsNkey',
  ca: 'natsCa',
  cert: 'natsCert',
  key: 'natsKey',
} as const;

function assertReadable(file: keyof typeof optionOf, path: string): void {
  try {
    readFileSync(path);
  } catch (error) {
    throw new StartupError(`option ${optionOf[file]}: ${messageOf(error)}`, { cause: error });
  }
}

/** What a file holds now, or what it held at the last time it could be read: the client gives up for good otherwise. */
export function freshFile(path: string): () => Uint8Array {
  let last: Uint8Array = readFileSync(path);
  return () => {
    try {
      last = readFileSync(path);
    } catch {
      // The file is being replaced: what it held before may still log in, and the next attempt reads it again.
    }
    return last;
  };
}
