import uws, { type HttpResponse, type TemplatedApp } from 'uWebSockets.js';

/** Reads the whole body of a small request in the way of the examples of uWebSockets.js. */
export function readBody(res: HttpResponse, onBody: (body: Buffer) => void): void {
  let before: Buffer | undefined;
  res.onData((chunk, last) => {
    const part = Buffer.from(chunk);
    // uWebSockets.js takes the memory of a chunk back when this returns, so a chunk must be copied to be kept.
    if (!last) before = before === undefined ? Buffer.from(part) : Buffer.concat([before, part]);
    else onBody(before === undefined ? part : Buffer.concat([before, part]));
  });
}

export function listenUws(app: TemplatedApp): Promise<number> {
  return new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (socket === false) reject(new Error('uWebSockets.js could not listen'));
      else resolve(uws.us_socket_local_port(socket));
    });
  });
}
