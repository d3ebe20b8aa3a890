/**
 * jayson's own http server. CORS is one header here. The packages connect and cors, which its example uses, cost more.
 * https://github.com/tedeh/jayson#server-http
 */
import jayson from 'jayson';
import { expose } from '../../process/expose.ts';
import { add, burn, checkedAdd, checkedBurn } from '../work.ts';
import { portOf } from './arguments.ts';

type Done = (error: null, result: number) => void;

const rpc = new jayson.Server({
  add: (params: unknown, done: Done) => done(null, add(checkedAdd(params))),
  burn: (params: unknown, done: Done) => done(null, burn(checkedBurn(params))),
});

const server = rpc.http();
server.prependListener('request', (_request, response) => {
  response.setHeader('access-control-allow-origin', '*');
});

expose(await portOf(server));
