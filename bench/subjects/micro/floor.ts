/** The steps that no server can leave out: parse, check, call, stringify. */
import { add, checkedAdd } from '../work.ts';
import type { MicroSubject } from './contract.ts';

interface Call {
  readonly id: number;
  readonly params: unknown;
}

function answer({ id, params }: Call): unknown {
  return { jsonrpc: '2.0', id, result: add(checkedAdd(params)) };
}

export const subject: MicroSubject = {
  envelope: (text) => JSON.parse(text),
  one: (text) => JSON.stringify(answer(JSON.parse(text) as Call)),
  batch: (text) => JSON.stringify((JSON.parse(text) as Call[]).map(answer)),
};
