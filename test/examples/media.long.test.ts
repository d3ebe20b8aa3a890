/** examples/media: its procedures by a caller, and the whole service over HTTP. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { hints } from '../../examples/media/api.ts';
import { userOf } from '../../examples/media/domain/accounts.ts';
import { parsePhotos } from '../../examples/media/domain/csv.ts';
import { Library } from '../../examples/media/domain/library.ts';
import { authenticate } from '../../examples/media/hooks.ts';
import { grainyPhoto } from '../../examples/media/photo.ts';
import media from '../../examples/media/procedures.ts';
import { type ContractOf, createClient, hasCode, settle } from '../../src/client/index.ts';
import { createCaller } from '../../src/index.ts';
import { runCli, startModule, startServer } from '../cli/process.ts';
import { read } from '../docs/pages.ts';
import { modulePath, moduleUrl, root, temporaryFolder } from '../files.ts';
import { startApp } from '../harness.ts';

const secret = 'a secret of this test';
const account = { name: 'ada', password: 'correct horse' };
const csv = 'title,place,year\r\n"Pier, at night",Brighton,1843\r\n"The ""Rocket""",Rainhill,1829';
const ids = (photos: readonly { id: number }[]) => photos.map(({ id }) => id);

before(() => {
  process.env.MEDIA_SECRET = secret;
});

/** The code of the error that a call is answered with. */
async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'answered',
    (error: { code?: unknown }) => error.code,
  );
}

describe('the procedures of examples/media, by a caller', () => {
  const state = new Library(':memory:');
  after(() => state.close());
  const anybody = createCaller(media, { state });
  const api = createCaller(media, { state, auth: { name: 'ada' } });
  const other = createCaller(media, { state, auth: { name: 'bob' } });

  test('an account is made once, and its password signs in', async () => {
    await anybody.users.signUp(account);
    assert.equal(await codeOf(anybody.users.signUp(account)), 409);
    const { token } = await anybody.users.signIn(account);
    assert.deepEqual(userOf(`Bearer ${token}`), { name: 'ada' });
    assert.equal(await codeOf(anybody.users.signIn({ ...account, password: 'a wrong one' })), 401);
    assert.equal(await codeOf(anybody.users.signIn({ ...account, name: 'nobody' })), 401);
    assert.equal(await codeOf(anybody.users.signUp({ name: 'eve', password: 'short' })), -32602);
  });

  test('a token that was not issued here is nobody', async () => {
    const { token } = await anybody.users.signIn(account);
    const [, signature] = token.split('.');
    const claims = Buffer.from('{"name":"bob","expires":9e15}').toString('base64url');
    for (const text of ['', token, `Bearer ${claims}.${signature}`, 'Bearer x', `Bearer ${token}x`])
      assert.equal(userOf(text), undefined, text);
    assert.equal(userOf(undefined), undefined);
  });

  test('nobody in particular gets no further than to sign in', async () => {
    const data = new Uint8Array(3);
    assert.equal(await codeOf(anybody.images.thumb({ data })), 401);
    assert.equal(await codeOf(anybody.images.digest({ data })), 401);
    assert.equal(await codeOf(anybody.photos.load({ csv })), 401);
    assert.equal(await codeOf(anybody.photos.get({ id: 1 })), 401);
    assert.equal(await codeOf(anybody.photos.search()), 401);
  });

  test('a thumbnail is a smaller image', async () => {
    const small = await api.images.thumb({ data: await grainyPhoto(200), width: 100 });
    const { format, width, height } = await sharp(small).metadata();
    assert.deepEqual([format, width, height], ['webp', 100, 100]);
    assert.equal(await codeOf(api.images.thumb({ data: new Uint8Array(100) })), 422);
    assert.equal(await codeOf(api.images.thumb({ data: small, width: 5 })), -32602);
  });

  test('a digest is that of the bytes', async () => {
    assert.equal(
      await api.images.digest({ data: Buffer.from('abc') }),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  test('photos are loaded from CSV, all or none, and found by their owner alone', async () => {
    assert.deepEqual(await api.photos.load({ csv }), { added: 2 });
    const outcome = await settle(api.photos.load({ csv: `${csv}\nTower,Blackpool,soon` }));
    assert.ok(!outcome.ok && hasCode(outcome.error, 422));
    assert.deepEqual(outcome.error.data, { line: 4 });
    assert.deepEqual(ids(await api.photos.search()), [1, 2]);
    assert.deepEqual(ids(await api.photos.search({ text: 'RAIN' })), [2]);
    assert.deepEqual(await api.photos.get({ id: 2 }), {
      id: 2,
      title: 'The "Rocket"',
      place: 'Rainhill',
      year: 1829,
    });
    assert.equal(await codeOf(other.photos.get({ id: 2 })), 404);
    assert.deepEqual(await other.photos.search(), []);
  });
});

test('each line of a table that is wrong is named', () => {
  const head = 'title,place,year\n';
  for (const [text, badLine] of [
    ['', 1],
    ['title,place\n', 1],
    [head, undefined],
    [`${head}a,b,1900`, undefined],
    [`${head}a,b,1900\n`, undefined],
    [`${head}"a\nb",c,1900\nd,e,19x0\n`, 3],
    [`${head}a,b,1900,more\n`, 2],
    [`${head},b,1900\n`, 2],
    [`${head}a,b"c,1900\n`, 2],
    [`${head}"a,b,1900\n`, 2],
  ] as const)
    assert.equal(parsePhotos(text).badLine, badLine, text);
});

describe('examples/media over HTTP', () => {
  test('answers who has signed in, from a worker and from the main thread, which share the library', async (t) => {
    const folder = temporaryFolder(t);
    process.env.MEDIA_LIBRARY = join(folder, 'library.db');
    const { url } = await startApp(t, {
      modules: [moduleUrl('examples/media/procedures.ts')],
      authenticate,
    });
    const connect = (headers: Record<string, string>) =>
      createClient<ContractOf<typeof media>>({ url, hints, headers, retries: 0 });
    const anybody = connect({});
    await anybody.users.signUp(account);
    const { token } = await anybody.users.signIn(account);
    const api = connect({ authorization: `Bearer ${token}` });

    const small = await api.images.thumb({ data: await grainyPhoto(450) });
    assert.equal((await sharp(small).metadata()).width, 400);
    // The worker writes what the main thread reads.
    assert.deepEqual(await api.photos.load({ csv }), { added: 2 });
    assert.equal((await api.photos.get({ id: 1 })).title, 'Pier, at night');
    assert.equal(await codeOf(anybody.photos.get({ id: 1 })), 401);
    assert.equal(await codeOf(api.images.thumb({ data: new Uint8Array(7_000_001) })), -32602);
  });
});

test('the client prints what examples/README.md says', async (t) => {
  const { server, url } = await startServer(
    [modulePath('examples/media/procedures.ts'), '--hooks', modulePath('examples/media/hooks.ts')],
    { MEDIA_SECRET: secret, MEDIA_LIBRARY: join(temporaryFolder(t), 'library.db') },
  );
  t.after(() => server.child.kill('SIGKILL'));
  const client = startModule('examples/media/client.ts', [url]);
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

test('the contract of the client is current', async () => {
  const file = join(root, 'examples/media/api.ts');
  const module = modulePath('examples/media/procedures.ts');
  const { code, stderr } = await runCli(['codegen', module, '--out', file, '--check']);
  assert.deepEqual([code, stderr], [0, '']);
});
