/**
 * json-rpc-2.0 on node:http, which costs less than the Express of its example.
 * https://github.com/shogowada/json-rpc-2.0#server
 */
import { createServer } from 'node:http';
import { JSONRPCServer } from 'json-rpc-2.0';
import { expose } from '../../process/expose.ts';
import { add, burn, checkedAdd, checkedBurn } from '../work.ts';
import { portOf } from './arguments.ts';

const rpc = new JSONRPCServer();
rpc.addMethod('add', (params) => add(checkedAdd(params)));
rpc.addMethod('burn', (params) => burn(checkedBurn(params)));

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    void rpc.receiveJSON(body).then((reply) => {
      const text = JSON.stringify(reply);
      response.writeHead(200, {
        'access-control-allow-origin': '*',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      });
      response.end(text);
    });
  });
});

expose(await portOf(server));
