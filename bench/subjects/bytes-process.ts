/** Procedures by JSON-RPC and, with the argument `plain`, by URLs too. */
import { RpcApp } from '../../src/index.ts';
import { expose } from '../process/expose.ts';

const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const app = new RpcApp({
  modules: [new URL(`./bytes-procedures${extension}`, source).href],
  workers: 1,
  logLevel: 'error',
  ...(process.argv[2] === 'plain' ? { httpPath: '/api' } : {}),
});
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

expose(port);
