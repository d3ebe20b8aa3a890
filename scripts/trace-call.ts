/**
 * Which files of a checkout run code for one pooled HTTP call, in the main thread and in the worker, by the coverage of V8. Prints
 * JSON. Used by measure-size.ts, which starts it in that checkout.
 */
import { join } from 'node:path';
import { RpcApp } from 'tandem-rpc';
import { startTrace, takeTrace } from './traced-procedures.ts';

const root = process.cwd();
/** What runs less often than the calls is no part of their way: timers, and what comes once a second. */
const times = 200;
const app = new RpcApp({
  modules: [join(import.meta.dirname, 'traced-procedures.ts')],
  workers: 1,
  spareWorkers: 0,
  logLevel: 'error',
});
const { url } = await app.listen({ port: 0 });
const call = async (method: string): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', method, params: { times }, id: 1 });
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url, { method: 'POST', headers, body });
  return ((await reply.json()) as { result: unknown }).result;
};
const work = async (): Promise<void> => {
  for (let i = 0; i < times; i++) await call('work');
};
await work();
await call('start');
await call('take');
await startTrace();
await takeTrace(times);
await work();
const ran = await takeTrace(times);
const inWorker = (await call('take')) as string[];
await app.close();
const source = join(root, 'src/');
const own = [...new Set([...ran, ...inWorker])].filter((name) => name.startsWith(source));
const files = [
  ...new Set(own.map((name) => name.slice(root.length + 1).split(' ')[0] ?? '')),
].sort();
console.log(JSON.stringify({ files, functions: own.length }));
