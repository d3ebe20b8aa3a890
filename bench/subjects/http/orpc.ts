/**
 * https://orpc.dev/docs/adapters/http
 * https://orpc.dev/docs/plugins/cors
 */
import { createServer } from 'node:http';
import { os } from '@orpc/server';
import { RPCHandler } from '@orpc/server/node';
import { CORSPlugin } from '@orpc/server/plugins';
import { expose } from '../../process/expose.ts';
import { add, checkedAdd } from '../work.ts';
import { portOf } from './arguments.ts';
import { standardSchema } from './standard-schema.ts';

const router = {
  add: os.input(standardSchema(checkedAdd)).handler(({ input }) => add(input)),
};
const handler = new RPCHandler(router, { plugins: [new CORSPlugin({ origin: '*' })] });
const server = createServer((request, response) => {
  void handler.handle(request, response, { prefix: '/rpc', context: {} }).then(({ matched }) => {
    if (!matched) response.writeHead(404).end();
  });
});

expose(await portOf(server));
