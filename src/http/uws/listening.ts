import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { listenError, probe } from '../edge/listen-error.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { type SocketFile, socketError } from '../edge/unix-socket.ts';
import type { Uws } from './load.ts';

export function createApp(uws: Uws, tls: TlsFiles | undefined): TemplatedApp {
  if (tls === undefined) return uws.App();
  return uws.SSLApp({ key_file_name: tls.keyPath, cert_file_name: tls.certPath });
}

type Listened = (socket: us_listen_socket | false) => void;

/** The native function takes options behind host and port. Its type file leaves that overload out. */
type ListenOnHost = (host: string, port: number, options: number, callback: Listened) => void;

/** The type file leaves out that a failure gives `false`. */
type ListenOnFile = (callback: Listened, path: string) => void;

/**
 * Modes of a listening socket. The default is the shared one (SO_REUSEPORT), with which a second server would join
 * the port in silence.
 */
const portModes = { shared: 0, exclusive: 1 } as const;

/** @throws Error with the `code` of the operating system; the app is closed then */
export async function listenOnPort(
  app: TemplatedApp,
  host: string,
  port: number,
  isShared: boolean,
): Promise<us_listen_socket> {
  const mode = isShared ? portModes.shared : portModes.exclusive;
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app.listen as unknown as ListenOnHost).call(app, host, port, mode, resolve);
  });
  if (socket !== false) return socket;
  app.close();
  throw listenError(await probe(host, port), host, port);
}

/** @throws Error with one line; the app is closed then */
export async function listenOnFile(app: TemplatedApp, file: SocketFile): Promise<us_listen_socket> {
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app.listen_unix as unknown as ListenOnFile).call(app, resolve, file.private);
  });
  if (socket !== false) return socket;
  app.close();
  // Where and how long the path is was checked. The library does not say what else is wrong.
  throw socketError(file.path, 'ERR_UWS_LISTEN');
}
