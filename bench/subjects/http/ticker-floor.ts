/** The floor of a ticker: a loop that sends one text to all sockets of uWebSockets.js. It knows neither calls nor readers. */
import uws, { type WebSocket } from 'uWebSockets.js';
import { expose } from '../../process/expose.ts';
import { listenUws } from './uws-listen.ts';

const sockets = new Set<WebSocket<object>>();
const app = uws.App();
app.ws<object>('/rpc', {
  maxBackpressure: 0,
  message: (ws) => {
    sockets.add(ws);
    ws.send('{"jsonrpc":"2.0","id":1,"result":"0x5f3a01"}');
  },
  close: (ws) => {
    sockets.delete(ws);
  },
});

let value = 0;
const publish = (): void => {
  const text = `{"jsonrpc":"2.0","method":"ticker","params":{"subscription":"0x5f3a01","result":${value++}}}`;
  for (const ws of sockets) ws.send(text);
};

expose(await listenUws(app), { publish });
