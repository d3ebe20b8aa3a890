/**
 * The images of examples/deployment and of the recipe for containers, and the services of the compose file, where no
 * container can be built: each line of a Dockerfile is played with npm's registry, and what the image then runs is run as it
 * stands there.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { packedTarball } from '../cli/packed.ts';
import { Running } from '../cli/process.ts';
import { describeWith } from '../describe-with.ts';
import { parseStory } from '../docs/guide/story.ts';
import { pathOf, read } from '../docs/pages.ts';
import { findNatsServer, needs as needsNats } from '../nats/nats-server.ts';
import { environmentOf, readCompose } from './compose.ts';
import { BuiltImage } from './image.ts';
import { isReachable, Registry } from './registry.ts';

const run = promisify(execFile);
const example = (name: string): string => read(`examples/deployment/${name}`);
const services = readCompose(example('compose.yaml'));

async function assertEnds(server: Running): Promise<void> {
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.exit;
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /EACCES|EROFS|EPERM/);
}

async function assertAnswers(url: string, call: object, result: unknown): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url, { method: 'POST', headers, body });
  assert.deepEqual(await reply.json(), { jsonrpc: '2.0', id: 1, result });
}

const addition = { method: 'math.add', params: { a: 1, b: 2 } };

/** The image listens at every address; a test asks this machine's own. */
async function urlOf(server: Running): Promise<string> {
  const [, url = ''] = await server.seen('stderr', /listens on (http:\S+) \(uWebSockets\.js/);
  return url.replace('0.0.0.0', '127.0.0.1');
}

const npm = (await isReachable()) ? 'npm' : undefined;

describeWith(npm, "needs npm's registry", 'images, without a container', () => {
  let registry: Registry;
  before(async () => {
    registry = await Registry.start(await packedTarball());
  });
  after(() => registry.close());

  describe('examples/deployment', () => {
    let image: BuiltImage;
    before(async () => {
      const files = ['package.json', 'procedures.js'].map((name) => [name, example(name)]);
      image = await BuiltImage.build(example('Dockerfile'), Object.fromEntries(files), registry);
    });
    after(() => image.remove());

    test('has the binary of this platform alone', () => {
      const names = readdirSync(join(image.app, 'node_modules/uWebSockets.js'));
      const { platform, arch, versions } = process;
      assert.deepEqual(
        names.filter((name) => name.endsWith('.node')),
        [`uws_${platform}_${arch}_${versions.modules}.node`],
      );
    });

    test('its command serves, its health check passes, and SIGTERM ends it with 0', async (t) => {
      const { command, env, health } = image.says;
      const server = image.start(command);
      t.after(() => server.child.kill('SIGKILL'));
      await assertAnswers(await urlOf(server), addition, 3);

      const [, metrics = ''] = await server.seen('stderr', /"metricsUrl":"(http:[^"]+)"/);
      const { port } = new URL(metrics.replace('0.0.0.0', '127.0.0.1'));
      const words = JSON.parse(/CMD (\[.*\])/.exec(health)?.[1] ?? '[]') as string[];
      const [node = '', ...check] = words.map((word) =>
        word.replace(`:${env.TANDEM_METRICS_PORT}/`, `:${port}/`),
      );
      assert.equal(node, 'node');
      await run(process.execPath, check, { env: {} });
      await assertEnds(server);
    });

    describeWith(findNatsServer(), needsNats, 'with its compose file', (natsServer) => {
      const passwords = { GATEWAY_PASSWORD: 'g-1', MEMBER_PASSWORD: 'm-1', CLIENT_PASSWORD: 'c-1' };

      /** @returns the server and its port */
      async function startNats(): Promise<[Running, string]> {
        const { command = [], volumes = [] } = services.nats ?? {};
        const [here = '', there] = volumes[0]?.split(':') ?? [];
        assert.ok(command.includes(there ?? ''));
        const args = command.map((word) =>
          word === there ? pathOf(join('examples/deployment', here)) : word,
        );
        const nats = new Running(spawn(natsServer, [...args, '-p', '-1'], { env: passwords }));
        const listens = /Listening for client connections on 0\.0\.0\.0:(\d+)/;
        const [, port = ''] = await nats.seen('stderr', listens);
        return [nats, port];
      }

      test('a gateway answers what two members serve, and all of them end with 0', async (t) => {
        const [nats, port] = await startNats();
        t.after(() => nats.child.kill('SIGKILL'));
        const of = (name: string): Record<string, string> => {
          const own = Object.entries(environmentOf(services[name], passwords));
          const here = own.map(([key, value]) => [
            key,
            value.replace('@nats:4222', `@127.0.0.1:${port}`),
          ]);
          return Object.fromEntries(here);
        };
        assert.equal(services.member?.scale, 2);
        const members = [1, 2].map(() => image.start(image.says.command, of('member')));
        const gateway = image.start(services.gateway?.command ?? [], of('gateway'));
        t.after(() => {
          for (const { child } of [gateway, ...members]) child.kill('SIGKILL');
        });
        await Promise.all(members.map(urlOf));
        await assertAnswers(await urlOf(gateway), addition, 3);
        for (const server of [gateway, ...members]) await assertEnds(server);
      });
    });
  });

  test('the recipe for containers compiles its sources and serves them', async (t) => {
    const files = parseStory(read('docs/recipes/containers.md')).flatMap((step) =>
      step.kind === 'file' ? [[step.name, step.text] as const] : [],
    );
    const { Dockerfile = '', ...context } = Object.fromEntries(files);
    const image = await BuiltImage.build(Dockerfile, context, registry);
    t.after(() => image.remove());
    assert.ok(!readdirSync(join(image.app, 'node_modules')).includes('typescript'));
    const server = image.start(image.says.command);
    t.after(() => server.child.kill('SIGKILL'));
    await assertAnswers(await urlOf(server), { method: 'double', params: { n: 21 } }, 42);
    await assertEnds(server);
  });
});
