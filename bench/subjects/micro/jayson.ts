/** https://github.com/tedeh/jayson#server: `call` is what its transports use. */
import jayson from 'jayson';
import { add, checkedAdd } from '../work.ts';
import type { MicroSubject } from './contract.ts';

const server = new jayson.Server({
  add: (params: unknown, done: (error: null, result: number) => void) =>
    done(null, add(checkedAdd(params))),
});

function handle(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.call(text, (error?: unknown, reply?: unknown) => {
      if (error) reject(new Error(JSON.stringify(error)));
      else resolve(JSON.stringify(reply));
    });
  });
}

export const subject: MicroSubject = { one: handle, batch: handle };
