/** The least that 5 MB cost a main thread on uWebSockets.js: a body is counted and dropped, an answer is the same bytes each time. */
import { loadUws } from '../../src/server/http/uws/load.ts';
import { expose } from '../process/expose.ts';

const { uws } = await loadUws();
if (uws === undefined) throw new Error('uWebSockets.js did not load');
let bytes = new Uint8Array(0);

const app = uws.App();
app.post('/api/size', (res) => {
  res.onAborted(() => {});
  let length = 0;
  res.onData((chunk, isLast) => {
    length += chunk.byteLength;
    if (isLast) res.end(String(length));
  });
});
app.get('/api/zeros', (res, req) => {
  res.onAborted(() => {});
  const size = Number(req.getQuery('size'));
  if (bytes.length !== size) bytes = new Uint8Array(size);
  const send = (from: number): boolean => {
    const [, isWhole] = res.tryEnd(bytes.subarray(from), size);
    return isWhole;
  };
  res.onWritable((offset) => send(offset));
  send(0);
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port');
  expose(uws.us_socket_local_port(socket));
});
