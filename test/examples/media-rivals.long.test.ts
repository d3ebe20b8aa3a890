/**
 * The service of examples/media, and the same on tRPC and on Fastify with piscina (bench/subjects/media): they answer the
 * same calls alike, and docs/benchmark.md says how many lines each of them has.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import sharp from 'sharp';
import { grainyPhoto } from '../../examples/media/photo.ts';
import { runCli, startModule, startServer } from '../cli/process.ts';
import { temporaryFolder } from '../codegen/compile.ts';
import { read } from '../docs/pages.ts';
import { isCompiled, modulePath, root } from '../files.ts';

interface Answer {
  /** 200, or the status that stands for the error. */
  readonly status: number;
  readonly value?: unknown;
}

type Call = (method: string, params: object, token?: string) => Promise<Answer>;

const environment = (t: TestContext) => ({
  MEDIA_SECRET: 'a secret of this test',
  MEDIA_LIBRARY: join(temporaryFolder(t), 'library.db'),
  PORT: '0',
});

async function send(url: string, body: object | undefined, token: string | undefined) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      connection: 'close',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
}

async function urlOfTandem(t: TestContext): Promise<string> {
  const { server, url } = await startServer(
    [modulePath('examples/media/procedures.ts'), '--hooks', modulePath('examples/media/hooks.ts')],
    environment(t),
  );
  t.after(() => server.child.kill('SIGKILL'));
  return url;
}

async function tandem(t: TestContext): Promise<Call> {
  const url = await urlOfTandem(t);
  return async (method, params, token) => {
    const { json } = await send(url, { jsonrpc: '2.0', id: 1, method, params }, token);
    if (json.error === undefined) return { status: 200, value: json.result };
    return { status: json.error.code === -32602 ? 400 : json.error.code };
  };
}

async function originOf(t: TestContext, path: string): Promise<string> {
  const server = startModule(path, [], environment(t));
  t.after(() => server.child.kill('SIGKILL'));
  const [, port = ''] = await server.seen('stdout', /port: (\d+)/);
  return `http://127.0.0.1:${port}`;
}

async function trpc(t: TestContext): Promise<Call> {
  const origin = await originOf(t, 'bench/subjects/media/trpc.ts');
  return async (method, params, token) => {
    const isQuery = method === 'photos.get' || method === 'photos.search';
    const query = isQuery ? `?input=${encodeURIComponent(JSON.stringify(params))}` : '';
    const body = isQuery ? undefined : params;
    const { status, json } = await send(`${origin}/${method}${query}`, body, token);
    return status === 200 ? { status, value: json.result.data ?? null } : { status };
  };
}

async function fastify(t: TestContext): Promise<Call> {
  const origin = await originOf(t, 'bench/subjects/media/fastify.ts');
  return async (method, params, token) => {
    const { status, json } = await send(`${origin}/${method.replace('.', '/')}`, params, token);
    if (status === 204) return { status: 200, value: null };
    return status === 200 ? { status, value: json.data ?? json.digest ?? json } : { status };
  };
}

const csv = 'title,place,year\nPier,Brighton,1843\n"The ""Rocket""",Rainhill,1829\n';
const rocket = { id: 2, title: 'The "Rocket"', place: 'Rainhill', year: 1829 };
const pier = { id: 1, title: 'Pier', place: 'Brighton', year: 1843 };

/** From the sources only ours: Node 20 loads no TypeScript in the threads of the others. */
const services = isCompiled ? { tandem, trpc, fastify } : { tandem };

/** Each service gets the same one. */
const madePhoto = grainyPhoto(2500);

describe('the media service answers the same calls alike', () => {
  for (const [name, start] of Object.entries(services)) {
    it(`on ${name}`, async (t) => {
      const call = await start(t);
      const account = { name: 'ada', password: 'correct horse' };
      const wrong = { ...account, password: 'a wrong one' };
      assert.deepEqual(await call('users.signUp', account), { status: 200, value: null });
      assert.deepEqual(await call('users.signUp', account), { status: 409 });
      assert.deepEqual(await call('users.signUp', { name: 'eve', password: 'x' }), { status: 400 });
      assert.deepEqual(await call('users.signIn', wrong), { status: 401 });
      const { value } = await call('users.signIn', account);
      const { token } = value as { token: string };
      const signedIn = (method: string, params: object) => call(method, params, token);

      const anonymous = [
        ['images.thumb', { data: '' }],
        ['images.digest', { data: '' }],
        ['photos.load', { csv }],
        ['photos.get', { id: 1 }],
      ] as const;
      for (const [method, params] of anonymous)
        assert.deepEqual(await call(method, params), { status: 401 }, method);
      assert.deepEqual(await call('photos.search', {}, `${token}x`), { status: 401 });

      const photo = Buffer.from(await madePhoto);
      assert.ok(photo.length > 5e6);
      const data = photo.toString('base64');
      const thumb = await signedIn('images.thumb', { data });
      const small = Buffer.from(thumb.value as string, 'base64');
      assert.ok(small.length < 50_000, `${small.length} bytes`);
      assert.equal((await sharp(small).metadata()).width, 400);
      const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
      assert.deepEqual(await signedIn('images.digest', { data: 'YWJj' }), {
        status: 200,
        value: digest,
      });
      assert.deepEqual(await signedIn('images.thumb', { data: 'YWJj' }), { status: 422 });
      assert.deepEqual(await signedIn('images.thumb', { data, width: 5 }), { status: 400 });

      assert.deepEqual(await signedIn('photos.load', { csv }), {
        status: 200,
        value: { added: 2 },
      });
      assert.deepEqual(await signedIn('photos.load', { csv: `${csv}x` }), { status: 422 });
      assert.deepEqual(await signedIn('photos.load', {}), { status: 400 });
      // The owner and what else a row holds are not sent.
      assert.deepEqual(await signedIn('photos.get', { id: 2 }), { status: 200, value: rocket });
      assert.deepEqual(await signedIn('photos.get', { id: 3 }), { status: 404 });
      assert.deepEqual(await signedIn('photos.search', {}), { status: 200, value: [pier, rocket] });
      assert.deepEqual(await signedIn('photos.search', { text: 'rain' }), {
        status: 200,
        value: [rocket],
      });
    });
  }
});

describe('examples/media', () => {
  it('has a client that prints what examples/README.md says', async (t) => {
    const client = startModule('examples/media/client.ts', [await urlOfTandem(t)]);
    const { code, stdout, stderr } = await client.exit;
    assert.deepEqual([code, stderr], [0, '']);
    // How well an image is compressed, and so its digest, depends on the release of sharp.
    const shape = (text: string) =>
      text
        .replace(/^\d+ bytes in, \d{5} bytes out, \d+ ms$/m, 'sizes')
        .replace(/^\w{64}$/m, 'digest');
    const [, printed = ''] = /media\/client\.ts\n(.*?)```/s.exec(read('examples/README.md')) ?? [];
    assert.match(shape(stdout), /^sizes\ndigest\n\{ added: 2 \}\n/);
    assert.equal(shape(stdout), shape(printed));
  });

  it('has a contract that is current', async () => {
    const file = join(root, 'examples/media/api.ts');
    const module = modulePath('examples/media/procedures.ts');
    const { code, stderr } = await runCli(['codegen', module, '--out', file, '--check']);
    assert.deepEqual([code, stderr], [0, '']);
  });
});

/** Lines of code: neither blank nor comment. */
function linesOf(path: string): number {
  const lines = read(path).split('\n');
  return lines.filter((line) => !/^\s*(?:$|\/\/|\/?\*)/.test(line)).length;
}

it('docs/benchmark.md tells the lines of each service, of which ours has the fewest', () => {
  const rows = [...read('docs/benchmark.md').matchAll(/^\| ([^|]+) \| (\d+) \| (`.+`) \|$/gm)];
  const told = rows.map(([, name, lines]) => [name, Number(lines)]);
  const counted = rows.map(([, name, , files = '']) => {
    const paths = [...files.matchAll(/`([^`]+)`/g)];
    return [name, paths.reduce((sum, [, path = '']) => sum + linesOf(path), 0)];
  });
  assert.deepEqual(told, counted);
  const [[, ours] = [], ...rivals] = counted;
  assert.equal(rivals.length, 2);
  for (const [name, lines] of rivals) assert.ok(Number(ours) < Number(lines), String(name));
});
