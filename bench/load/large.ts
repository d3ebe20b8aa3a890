import { Connection } from './connection.ts';

export interface LargeJob {
  readonly port: number;
  /** The letter that the text is made of. */
  readonly letter: string;
  /** Length of the text in bytes, as it is sent. */
  readonly bytes: number;
  readonly connections: number;
  readonly seconds: number;
}

export interface LargeResult {
  readonly calls: number;
  readonly perSecond: number;
}

/** Calls with large params in a closed loop, each answer checked. */
export async function runLarge(job: LargeJob): Promise<LargeResult> {
  const { port, letter, bytes, connections, seconds } = job;
  const length = Math.floor(bytes / Buffer.byteLength(letter));
  const params = { text: letter.repeat(length) };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pooledSize', params }));
  const reply = JSON.stringify({ jsonrpc: '2.0', id: 1, result: length });
  const began = performance.now();
  const until = began + seconds * 1000;
  let calls = 0;
  const lane = async (): Promise<void> => {
    const connection = await Connection.open(port);
    do {
      const response = await connection.post('/rpc', body);
      if (response.status !== 200 || response.body !== reply) {
        throw new Error(`a wrong answer: ${response.status} ${response.body.slice(0, 200)}`);
      }
      calls++;
    } while (performance.now() < until);
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return { calls, perSecond: calls / ((performance.now() - began) / 1000) };
}
