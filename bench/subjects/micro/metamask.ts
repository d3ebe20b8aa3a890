/** https://github.com/MetaMask/core/tree/main/packages/json-rpc-engine; it has no batches. */
import { JsonRpcServer } from '@metamask/json-rpc-engine/v2';
import { add, checkedAdd } from '../work.ts';
import type { MicroSubject } from './contract.ts';

const server = new JsonRpcServer({
  middleware: [
    ({ request, next }) => (request.method === 'add' ? add(checkedAdd(request.params)) : next()),
  ],
  onError: () => {},
});

export const subject: MicroSubject = {
  one: async (text) => JSON.stringify(await server.handle(JSON.parse(text))),
};
