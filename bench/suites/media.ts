import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { grainyPhoto } from '../../examples/media/photo.ts';
import { compileTree } from '../../scripts/compile.ts';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import { type Goal, headers } from '../load/request.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { lightAndHeavy, type Reading } from '../readings.ts';
import { rootPath } from '../root.ts';
import type { Subject } from '../subject.ts';
import type { Plan, Session, Suite } from '../suite.ts';

const tool = 'paced client';
export const alone = 'light calls alone';
export const beside = 'beside thumbnails';
const lightPerSecond = 50;
const heavyCallers = 4;

/** One HTTP request; without a body a GET. */
interface Call {
  readonly path: string;
  readonly body?: string;
}

/** A complete service: the example of this repository, and the same written for others. */
interface Service extends Subject {
  /** Of Node: files of the compiled copy. */
  readonly args: readonly string[];
  readonly toCall: (method: string, params: object) => Call;
}

const services: readonly Service[] = [
  {
    id: 'tandem',
    label: 'Tandem',
    role: 'ours',
    args: 'src/cli/main.js serve examples/media/procedures.js --port 0 --hooks examples/media/hooks.js'.split(
      ' ',
    ),
    toCall: (method, params) => ({
      path: '/rpc',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }),
  },
  {
    id: 'trpc-media',
    label: 'tRPC + piscina',
    role: 'rival',
    args: ['bench/subjects/media/trpc.js'],
    toCall: (method, params) => {
      const text = JSON.stringify(params);
      return method === 'photos.get'
        ? { path: `/${method}?input=${encodeURIComponent(text)}` }
        : { path: `/${method}`, body: text };
    },
  },
  {
    id: 'fastify-media',
    label: 'Fastify + piscina',
    role: 'rival',
    args: ['bench/subjects/media/fastify.js'],
    toCall: (method, params) => ({
      path: `/${method.replace('.', '/')}`,
      body: JSON.stringify(params),
    }),
  },
];

function plan({ full, duration, rounds }: Options): Plan {
  const subjects = services.map(({ id, label, role }) => ({ id, label, role }));
  const ids = subjects.map(({ id }) => id);
  const cases = [alone, beside].map((name) => ({ name, subjects: ids, seconds: duration ?? 4 }));
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 3), openSeconds: 15 };
}

/** A service that runs with its defaults in a process of its own, with a user and a photo in its library. */
class RunningService {
  readonly light: Goal;
  readonly heavy: Goal;
  readonly #child: ChildProcess;
  readonly #library: string;

  private constructor(child: ChildProcess, library: string, light: Goal, heavy: Goal) {
    this.#child = child;
    this.#library = library;
    this.light = light;
    this.heavy = heavy;
  }

  static async start({ args, toCall }: Service, copy: string, photo: string) {
    const library = mkdtempSync(join(tmpdir(), 'tandem-media-'));
    const child = spawn(process.execPath, args, {
      cwd: copy,
      env: {
        ...process.env,
        NODE_ENV: 'production',
        PORT: '0',
        MEDIA_SECRET: 'secret',
        MEDIA_LIBRARY: join(library, 'library.db'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const port = await portOf(child);
    let token = '';
    const call = async (method: string, params: object): Promise<Goal> => {
      const { path, body } = toCall(method, params);
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(body !== undefined && headers),
          ...(token !== '' && { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { body }),
      });
      const reply = await response.text();
      if (!response.ok || reply.includes('"error"')) {
        throw new Error(`${method}: ${response.status} ${reply.slice(0, 200)}`);
      }
      return {
        port,
        path,
        token,
        ...(body === undefined && { method: 'GET' }),
        exchanges: [{ body: body ?? '', reply }],
        responseBytes: Buffer.byteLength(reply),
      };
    };
    const account = { name: 'ada', password: 'correct horse' };
    await call('users.signUp', account);
    const { exchanges } = await call('users.signIn', account);
    token = /"token":"([^"]+)"/.exec(exchanges[0]?.reply ?? '')?.[1] ?? '';
    await call('photos.load', { csv: 'title,place,year\nPier,Brighton,1843\n' });
    const light = await call('photos.get', { id: 1 });
    const heavy = await call('images.thumb', { data: photo });
    return new RunningService(child, library, light, heavy);
  }

  stop(): void {
    this.#child.kill();
    rmSync(this.#library, { recursive: true, force: true });
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const found = /(?:port: |listens on http:\/\/127\.0\.0\.1:)(\d+)/.exec(text)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
    }
    child.on('exit', () => reject(new Error(`a service did not start: ${text}`)));
  });
}

class MediaSession implements Session {
  readonly #copy: string;
  readonly #running = new Map<string, RunningService>();
  readonly #lightLoad: Child;
  /** In a process of its own, so that sending megabytes does not delay the light calls. */
  readonly #heavyLoad: Child;

  private constructor(copy: string, lightLoad: Child, heavyLoad: Child) {
    this.#copy = copy;
    this.#lightLoad = lightLoad;
    this.#heavyLoad = heavyLoad;
  }

  static async open({ subjects }: Plan): Promise<MediaSession> {
    const photo = Buffer.from(await grainyPhoto(2500)).toString('base64');
    const copy = await compileTree(rootPath(), 'apart');
    const [light, heavy] = [
      await Child.start('load/mixed-process'),
      await Child.start('load/mixed-process'),
    ];
    const session = new MediaSession(copy, light, heavy);
    try {
      for (const service of services.filter(({ id }) => subjects.some((one) => one.id === id))) {
        session.#running.set(service.id, await RunningService.start(service, copy, photo));
      }
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  async measure(id: string, name: string, seconds: number): Promise<readonly Reading[]> {
    const service = this.#running.get(id);
    if (service === undefined) throw new Error(`${id} was not started`);
    const job: MixedJob = { seconds, paced: { goal: service.light, perSecond: lightPerSecond } };
    if (name === alone) return lightAndHeavy(tool, await this.#lightLoad.call('run', job));
    const headStart = 1;
    const thumbnails = this.#heavyLoad.call<MixedResult>('run', {
      seconds: seconds + headStart,
      closed: { goal: service.heavy, connections: heavyCallers },
    } satisfies MixedJob);
    await pause(headStart * 1000);
    const { paced } = await this.#lightLoad.call<MixedResult>('run', job);
    return lightAndHeavy(tool, { ...(await thumbnails), paced });
  }

  async close(): Promise<void> {
    for (const service of this.#running.values()) service.stop();
    await Promise.all([this.#lightLoad.stop(), this.#heavyLoad.stop()]);
    rmSync(this.#copy, { recursive: true });
  }
}

export const media: Suite = {
  name: 'media',
  about: `A complete service, three times: ${lightPerSecond} light calls/s beside ${heavyCallers} callers that have photos of 5 MB made small.`,
  plan,
  open: (chosen) => MediaSession.open(chosen),
  report: () => [],
};
