/**
 * The floor: uWebSockets.js reading a body and writing a fixed reply. No header beside those that it
 * writes itself, no JSON.
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
