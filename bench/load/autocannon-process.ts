import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';
import { expose } from '../process/expose.ts';
import { type Goal, headers, type LoadResult } from './request.ts';

export interface AutocannonJob {
  readonly goal: Goal;
  readonly connections: number;
  readonly seconds: number;
}

/** Members of autocannon's client that its declarations leave out. */
interface OwnOptions {
  opts: { verifyBody?: (body: string) => boolean };
}

/** Each connection builds all its requests itself. With more connections than this, each gets fewer requests. */
const manyConnections = 64;
const fewExchanges = 4;

async function run({ goal, connections, seconds }: AutocannonJob): Promise<LoadResult> {
  const exchanges =
    connections > manyConnections ? goal.exchanges.slice(0, fewExchanges) : goal.exchanges;
  // The histogram of autocannon has only whole milliseconds.
  const latencies = createHistogram({ figures: 3 });
  let responses = 0;
  let first = 0;
  let last = 0;
  let wrong: string | undefined;
  const setupClient = (client: autocannon.Client): void => {
    // A connection takes the requests in turn, so the nth reply belongs to the nth request.
    let next = 0;
    (client as unknown as OwnOptions).opts.verifyBody = (body) => {
      const exchange = exchanges[next++ % exchanges.length];
      if (body !== exchange?.reply) wrong ??= `${exchange?.body} gave ${body}`;
      return true;
    };
    client.on('response', (status, _bytes, milliseconds) => {
      if (status !== 200) wrong ??= `status ${status}`;
      last = performance.now();
      if (responses++ === 0) first = last;
      latencies.record(Math.max(1, Math.round(milliseconds * 1e6)));
    });
  };
  const result = await autocannon({
    url: `http://127.0.0.1:${goal.port}${goal.path}`,
    method: 'POST',
    headers,
    connections,
    duration: seconds,
    requests: exchanges.map(({ body }) => ({ body })),
    setupClient,
    // Autocannon would look for the end of the run once a second: too rarely for a run that is shorter.
    sampleInt: 50,
  } as autocannon.Options);
  if (wrong !== undefined) throw new Error(`a wrong answer: ${wrong}`);
  if (result.errors > 0) throw new Error(`${result.errors} connections failed`);
  if (responses < 2) throw new Error('no answers');
  const milliseconds = (share: number): number => latencies.percentile(share) / 1e6;
  return {
    tool: 'autocannon',
    responses,
    perSecond: (responses - 1) / ((last - first) / 1000),
    p50: milliseconds(50),
    p99: milliseconds(99),
    p999: milliseconds(99.9),
  };
}

expose(undefined, { run });
