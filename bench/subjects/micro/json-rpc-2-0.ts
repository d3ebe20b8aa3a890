/** https://github.com/shogowada/json-rpc-2.0#server */
import { JSONRPCServer } from 'json-rpc-2.0';
import { add, checkedAdd } from '../work.ts';
import type { MicroSubject } from './contract.ts';

const server = new JSONRPCServer();
server.addMethod('add', (params) => add(checkedAdd(params)));

async function handle(text: string): Promise<string> {
  return JSON.stringify(await server.receiveJSON(text));
}

export const subject: MicroSubject = { one: handle, batch: handle };
