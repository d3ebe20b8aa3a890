import { RpcApp } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';

/** Default options, the number of workers too; with the argument `no-spare` there is no spare for short calls to run on. */
const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const app = new RpcApp({
  modules: [new URL(`../mixture-procedures${extension}`, source).href],
  logLevel: 'error',
  ...(process.argv[2] === 'no-spare' && { spareWorkers: 0 }),
});
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

expose(port);
