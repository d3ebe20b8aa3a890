import { createServer } from 'node:net';

const advice: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use: stop what listens there, or choose another port`,
  EACCES: (host, port) =>
    `no permission to listen on port ${port} of ${host}: choose a port above 1023`,
  EADDRNOTAVAIL: (host) =>
    `this machine has no address ${host}: use 127.0.0.1 for this machine only, or 0.0.0.0 for all`,
  ENOTFOUND: (host) => `host ${host} does not resolve: check its spelling, or use an address`,
};

/** Makes an error at the start: one line that says what to do. `code` is the operating system's. */
export function listenError(code: string, host: string, port: number): Error & { code: string } {
  const say = advice[code];
  const message = say ? say(host, port) : `cannot listen on port ${port} of ${host}: ${code}`;
  return Object.assign(new Error(message), { code });
}

/** The operating system's code in an error of node:net or node:dns. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    // The resolver's "try again" counts as "not found": the start does not try again.
    return error.code === 'EAI_AGAIN' ? 'ENOTFOUND' : error.code;
  }
  return String(error);
}

/** Finds out why listening on this address fails. uWebSockets.js says only that it fails. */
export function probe(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    // Where listening works now, whoever held the port has just released it.
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve('EADDRINUSE'));
    });
  });
}
