/**
 * `npm run bench:media`: the picture of the README, and the table of docs/benchmark.md, "A complete service". It measures light calls beside thumbnails of
 * 5 MB, on the example's service and on the two that stand beside it. Each has its defaults and a process of its own; they are measured in turn, round by
 * round. The figures go to bench/results/media.json, and from there into the charts and the pages.
 *
 *   npm run bench:media                   measures, and writes all of these
 *   npm run bench:media -- --draw         measures nothing: draws and writes again what the file has
 *   npm run bench:media -- --rounds 1     a short run, into bench/results/partial; the pages stay as they are
 */
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { grainyPhoto } from '../examples/media/photo.ts';
import { compileTree } from '../scripts/compile.ts';
import { messageOf } from '../src/core/base/message-of.ts';
import { describeMachine, loadNow } from './machine.ts';
import {
  type MediaFigures,
  type MediaResults,
  mediaPicture,
  mediaSection,
  mediaTable,
  readMedia,
  writeMedia,
  writeMediaCharts,
  writeSection,
} from './media.ts';
import { rootPath } from './root.ts';

const usualRounds = 3;
const lightCalls = 200;
const lightEveryMs = 20;
const heavyCallers = 4;

/** One HTTP request; without a body a GET. */
interface Sent {
  readonly url: string;
  readonly body?: string;
  readonly token?: string;
}

interface Subject {
  readonly name: string;
  readonly args: readonly string[];
  readonly toSent: (origin: string, method: string, params: object) => Sent;
}

const subjects: readonly Subject[] = [
  {
    name: 'Tandem',
    args: 'src/cli/main.ts serve examples/media/procedures.ts --port 0 --hooks'
      .split(' ')
      .concat('examples/media/hooks.ts'),
    toSent: (origin, method, params) => ({
      url: `${origin}/rpc`,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }),
  },
  {
    name: 'tRPC + piscina',
    args: ['bench/subjects/media/trpc.ts'],
    toSent: (origin, method, params) => {
      const text = JSON.stringify(params);
      return method === 'photos.get'
        ? { url: `${origin}/${method}?input=${encodeURIComponent(text)}` }
        : { url: `${origin}/${method}`, body: text };
    },
  },
  {
    name: 'Fastify + piscina',
    args: ['bench/subjects/media/fastify.ts'],
    toSent: (origin, method, params) => ({
      url: `${origin}/${method.replace('.', '/')}`,
      body: JSON.stringify(params),
    }),
  },
];

const agent = new Agent({ keepAlive: true });

/** @throws Error for an answer that is an error */
function send({ url, body, token }: Sent): Promise<string> {
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        if ((response.statusCode ?? 500) < 300 && !text.includes('"error"')) resolve(text);
        else reject(new Error(`${url}: ${response.statusCode} ${text.slice(0, 200)}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}

/** Runs in a process of its own, so that sending megabytes does not delay the light calls. Tells of each thumbnail. */
async function callHeavily(sent: Sent): Promise<void> {
  const call = async (): Promise<never> => {
    for (;;) {
      await send(sent);
      process.send?.('done');
    }
  };
  await Promise.all(Array.from({ length: heavyCallers }, call));
}

/** Milliseconds of calls that come at a fixed rate, whether or not the earlier ones were answered; sorted. */
async function callLightly(sent: Sent): Promise<number[]> {
  const times: Promise<number>[] = [];
  for (let n = 0; n < lightCalls; n++) {
    const began = performance.now();
    times.push(send(sent).then(() => performance.now() - began));
    await delay(lightEveryMs);
  }
  return (await Promise.all(times)).sort((a, b) => a - b);
}

interface Reading {
  readonly alone: readonly number[];
  readonly beside: readonly number[];
  readonly thumbnails: number;
}

/** @param copy the folder of the compiled sources */
async function measure(
  { name, args, toSent }: Subject,
  data: string,
  copy: string,
): Promise<Reading> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-media-'));
  const compiled = args.map((arg) =>
    arg.endsWith('.ts') ? join(copy, arg.replace(/ts$/, 'js')) : arg,
  );
  const child = spawn(process.execPath, compiled, {
    cwd: copy,
    env: {
      ...process.env,
      NODE_ENV: 'production',
      PORT: '0',
      MEDIA_SECRET: 'secret',
      MEDIA_LIBRARY: join(folder, 'library.db'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const port = await new Promise<string>((resolve, reject) => {
      let text = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          const found = /(?:port: |listens on http:\/\/127\.0\.0\.1:)(\d+)/.exec(text)?.[1];
          if (found !== undefined) resolve(found);
        });
      }
      child.on('exit', () => reject(new Error(`${name} did not start: ${text}`)));
    });
    const origin = `http://127.0.0.1:${port}`;
    const account = { name: 'ada', password: 'correct horse' };
    await send(toSent(origin, 'users.signUp', account));
    const signedIn = await send(toSent(origin, 'users.signIn', account));
    const token = /"token":"([^"]+)"/.exec(signedIn)?.[1] ?? '';
    const call = (method: string, params: object): Sent => ({
      ...toSent(origin, method, params),
      token,
    });
    await send(call('photos.load', { csv: 'title,place,year\nPier,Brighton,1843\n' }));
    const light = call('photos.get', { id: 1 });
    await callLightly(light); // warms up
    const alone = await callLightly(light);

    let done = 0;
    const callers = fork(fileURLToPath(import.meta.url), ['callers'], {
      execArgv: ['--import', 'tsx'],
    });
    callers.on('message', () => {
      done += 1;
    });
    callers.send(call('images.thumb', { data }));
    while (done < heavyCallers) await delay(20);
    const before = done;
    const began = performance.now();
    const beside = await callLightly(light);
    const thumbnails = (done - before) / ((performance.now() - began) / 1000);
    callers.kill('SIGKILL');
    return { alone, beside, thumbnails };
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const at = (times: readonly number[], share: number): number =>
  times[Math.floor((times.length - 1) * share)] ?? Number.NaN;

async function measureAll(rounds: number): Promise<MediaResults> {
  const machine = describeMachine();
  const data = Buffer.from(await grainyPhoto(2500)).toString('base64');
  const readings = new Map<string, Reading[]>(subjects.map(({ name }) => [name, []]));
  const copy = await compileTree(rootPath());
  try {
    for (let round = 0; round < rounds; round++)
      for (const subject of subjects)
        readings.get(subject.name)?.push(await measure(subject, data, copy));
  } finally {
    rmSync(copy, { recursive: true });
  }
  return {
    date: new Date().toISOString(),
    command: 'npm run bench:media',
    rounds,
    machine: { ...machine, load: [...machine.load, loadNow()] },
    services: [...readings].map(([name, of]) => figuresOf(name, of)),
  };
}

function figuresOf(name: string, readings: readonly Reading[]): MediaFigures {
  const tenths = (pick: (reading: Reading) => number): number =>
    Number(median(readings.map(pick)).toFixed(1));
  return {
    name,
    aloneP99: tenths(({ alone }) => at(alone, 0.99)),
    p50: tenths(({ beside }) => at(beside, 0.5)),
    p99: tenths(({ beside }) => at(beside, 0.99)),
    thumbnailsPerSecond: tenths(({ thumbnails }) => thumbnails),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { draw: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  });
  const rounds = Number(values.rounds ?? usualRounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds is a whole number from 1 on, not ${values.rounds}`);
  }
  const isPublished = values.rounds === undefined;
  const folder = rootPath(isPublished ? 'bench/results' : 'bench/results/partial');
  const file = join(folder, 'media.json');
  const results = values.draw ? readMedia(file) : await measureAll(rounds);
  if (!values.draw) writeMedia(file, results);
  await writeMediaCharts(results, folder);
  if (isPublished) {
    writeSection(rootPath('README.md'), mediaPicture(results, './bench/results'));
    writeSection(rootPath('docs/benchmark.md'), mediaSection(results));
  }
  console.log(`${mediaTable(results)}\n\n${file}`);
}

if (process.argv[2] === 'callers')
  process.once('message', (sent) => {
    void callHeavily(sent as Sent);
  });
else {
  try {
    await main();
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
agent.destroy();
