/** A gateway with the defaults of all options: node gateway-process.js <server> <service>. */
import { RpcApp } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';

const [, , servers = '', service = ''] = process.argv;
const app = new RpcApp({ nats: { servers, role: 'gateway', service }, logLevel: 'error' });
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

expose(port);
