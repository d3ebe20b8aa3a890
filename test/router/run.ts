import assert from 'node:assert/strict';
import type { Client, Contract } from '../../src/client/index.ts';
import { type AnyRouter, type CallerOptions, createCaller, Router } from '../../src/index.ts';

/** What is told of a -32603. */
export type Fault = Parameters<NonNullable<CallerOptions['onFault']>>[0];

export interface Ran {
  readonly ok: boolean;
  /** The error's code; 0: a result. */
  readonly code: number;
  /** The result or the error, as JSON text. */
  readonly text: string;
  readonly faults: readonly Fault[];
}

interface RunOptions {
  readonly auth?: unknown;
  readonly signal?: AbortSignal;
}

/** Calls one procedure in this process, the way of a call over HTTP. */
export async function run(
  router: AnyRouter,
  method: string,
  params?: unknown,
  { auth, signal }: RunOptions = {},
): Promise<Ran> {
  const faults: Fault[] = [];
  const onFault = (fault: Fault) => void faults.push(fault);
  const caller: Client<Contract> = createCaller(router, { auth, onFault });
  try {
    const result = await caller.call(method, params as object, signal && { signal });
    return { ok: true, code: 0, text: JSON.stringify(result), faults };
  } catch (thrown) {
    const { code, message, data } = thrown as { code: number; message: string; data?: unknown };
    const error = data === undefined ? { code, message } : { code, message, data };
    return { ok: false, code, text: JSON.stringify(error), faults };
  }
}

/** Calls a procedure that has this handler and these options. */
export function runHandler(handler: unknown, options: object = {}, params?: unknown): Promise<Ran> {
  const router = new Router();
  router.rpc({ name: 'p', ...options }, handler as () => never);
  return run(router, 'p', params);
}

/** A -32603 whose ref leads to exactly one fault, of which the caller is told nothing else. */
export async function assertFault(running: Promise<Ran>, detail: RegExp): Promise<void> {
  const { text, faults } = await running;
  assert.equal(faults.length, 1, text);
  const [fault] = faults;
  const error = { code: -32603, message: 'Internal error', data: { ref: fault?.ref } };
  assert.deepEqual(JSON.parse(text), error);
  assert.equal(fault?.method, 'p');
  assert.match(fault.detail, detail);
}

/** Registration refuses what `act` does. */
export function isRefused(act: () => unknown, message: RegExp | string): void {
  assert.throws(act, { name: 'RegistrationError', message });
}
