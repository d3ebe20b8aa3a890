import { RpcApp } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';
import { threads } from './arguments.ts';

/** All options have their defaults, except the number of workers and, in the suite on limits, the length of the queue. */
const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const maxQueue = process.argv[3];
const app = new RpcApp({
  modules: [new URL(`../procedures${extension}`, source).href],
  workers: threads,
  logLevel: 'error',
  ...(maxQueue !== undefined && { maxQueue: Number(maxQueue) }),
});
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

expose(port);
