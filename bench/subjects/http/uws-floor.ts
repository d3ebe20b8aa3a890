/**
 * The floor: uWebSockets.js reads a body and writes a fixed reply. It parses no JSON and writes no headers but those that
 * uWebSockets.js writes itself.
 * https://github.com/uNetworking/uWebSockets.js/blob/master/examples/JsonPost.js
 */
import uws from 'uWebSockets.js';
import { expose } from '../../process/expose.ts';
import { batchReply, firstReply } from '../fixed.ts';
import { listenUws, readBody } from './uws-listen.ts';

const app = uws.App();
for (const [path, reply] of [
  ['/', firstReply],
  ['/batch', batchReply],
] as const) {
  app.post(path, (res) => {
    res.onAborted(() => {});
    readBody(res, () => res.end(reply));
  });
}

expose(await listenUws(app));
