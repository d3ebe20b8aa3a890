/** Sends bytes to a procedure in a worker, or gets them from one: as they are, or as base64 in JSON-RPC. */
import { expose } from '../process/expose.ts';

export interface BytesJob {
  readonly port: number;
  readonly form: 'plain' | 'json-rpc';
  readonly way: 'in' | 'out';
  readonly bytes: number;
  readonly connections: number;
  readonly seconds: number;
}

type Call = () => Promise<void>;

const json = { 'content-type': 'application/json' };

function assertRight(isRight: boolean): void {
  if (!isRight) throw new Error('a wrong answer');
}

/** A call that checks its answer. The request is made once. */
function callOf({ port, form, way, bytes }: BytesJob): Call {
  const zeros = new Uint8Array(bytes);
  const isZeros = (given: Uint8Array): boolean => Buffer.compare(given, zeros) === 0;
  if (form === 'plain') {
    const base = `http://127.0.0.1:${port}/api`;
    if (way === 'out') {
      return async () => {
        const response = await fetch(`${base}/zeros?size=${bytes}`);
        assertRight(isZeros(new Uint8Array(await response.arrayBuffer())));
      };
    }
    const headers = { 'content-type': 'application/octet-stream' };
    return async () => {
      const response = await fetch(`${base}/size`, { method: 'POST', headers, body: zeros });
      assertRight((await response.text()) === String(bytes));
    };
  }
  const [method, params] =
    way === 'in'
      ? ['size', { data: Buffer.from(zeros).toString('base64') }]
      : ['zeros', { size: bytes }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return async () => {
    const response = await fetch(`http://127.0.0.1:${port}/rpc`, {
      method: 'POST',
      headers: json,
      body,
    });
    const { result } = (await response.json()) as { readonly result: string | number };
    assertRight(
      typeof result === 'string' ? isZeros(Buffer.from(result, 'base64')) : result === bytes,
    );
  };
}

/** @returns how many calls there were */
async function run(job: BytesJob): Promise<number> {
  const call = callOf(job);
  const until = performance.now() + job.seconds * 1000;
  let calls = 0;
  const lane = async (): Promise<void> => {
    do {
      await call();
      calls++;
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: job.connections }, lane));
  return calls;
}

expose(undefined, { run });
