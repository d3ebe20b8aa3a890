import { RpcApp } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';
import { threads } from './arguments.ts';

/**
 * All options have their defaults, except the number of workers, in the suite on limits the length of the queue, and in
 * that on transports the server.
 */
const source = import.meta.url;
const extension = source.endsWith('.ts') ? '.ts' : '.js';
const [maxQueue, transport = 'uws'] = process.argv.slice(3);
const app = new RpcApp({
  modules: [new URL(`../procedures${extension}`, source).href],
  workers: threads,
  logLevel: 'error',
  transport: transport === 'node' ? 'node' : 'uws',
  ...(maxQueue !== undefined && maxQueue !== '' && { maxQueue: Number(maxQueue) }),
});
const { port } = await app.listen({ port: 0 });

expose(port);
