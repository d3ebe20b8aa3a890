/**
 * Clients in TypeScript, Python, Go and Java, generated from the OpenAPI document of test/fixtures/openapi/hard-shapes.ts, compiled
 * and run; and schemathesis, which makes up requests from that document. Generators, and what their code needs, are pinned in
 * test/languages by a lock file for each language.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AppOptions, RpcApp, RpcError } from '../../src/index.ts';
import { root } from '../../test/files.ts';
import { builds, installNode, pythonShell, Shell } from './shell.ts';
import type { Suite } from './suite.ts';

const sources = join(root, 'test/languages');

/** Serves hard shapes with worker threads for as long as `use` takes. */
async function serve(
  use: (origin: string) => Promise<void>,
  options: AppOptions = {},
): Promise<void> {
  const app = new RpcApp({
    modules: [join(root, 'test/fixtures/openapi/hard-shapes.ts')],
    httpPath: '/api',
    port: 0,
    workers: 1,
    logLevel: 'silent',
    ...options,
  });
  try {
    const { port } = await app.listen();
    await use(`http://127.0.0.1:${port}`);
  } finally {
    await app.close();
  }
}

async function writeDocument(origin: string, folder: string, headers = {}): Promise<void> {
  const response = await fetch(`${origin}/openapi.json`, { headers });
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(await response.json(), null, 2));
}

/**
 * Serves, and copies the files of a language and the document to where they are built.
 *
 * @param generated what was generated there before, and goes
 */
function prepare(
  language: string,
  generated: readonly string[],
  use: (folder: string, env: NodeJS.ProcessEnv) => Promise<void>,
): Promise<void> {
  const folder = join(builds, language);
  for (const name of generated) rmSync(join(folder, name), { recursive: true, force: true });
  cpSync(join(sources, language), folder, { recursive: true });
  return serve(async (origin) => {
    await writeDocument(origin, folder);
    await use(folder, { TANDEM_URL: origin, TANDEM_VALUES: join(sources, 'values.json') });
  });
}

/** Prints what was done with a generator, whose version stands in a lock file. */
function report(generator: string, file: string, pattern: RegExp, done: string): void {
  const [, version] = pattern.exec(readFileSync(join(sources, file), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${file}: no ${pattern}`);
  console.log(`${generator} ${version}: ${done}`);
}

const typescript: Suite = {
  needs: {},
  run: () =>
    prepare('typescript', ['openapi-fetch', 'hey-api', 'orval'], async (folder) => {
      const modules = join(folder, 'node_modules');
      const lock = join(folder, 'package-lock.json');
      await new Shell(folder).install(lock, installNode);
      // The generators need Node 22, which is installed with them on Linux; elsewhere this one must do.
      const node = join(modules, `node-${process.platform}-${process.arch}/bin`);
      const shell = new Shell(folder, [node, join(modules, '.bin')]);
      await shell.run(
        'openapi-typescript openapi.json -o openapi-fetch/schema.ts --default-non-nullable false',
      );
      await shell.run('openapi-ts -f hey-api.config.mjs');
      await shell.run('orval --config orval.config.mjs');
      // What was generated is compiled and run by the tools of this repository.
      const own = new Shell(folder);
      await own.run(`node ${join(root, 'node_modules/typescript/bin/tsc')} --noEmit`);
      const programs = ['call-openapi-fetch.ts', 'call-hey-api.ts', 'call-orval.ts'];
      await own.run(`node --import tsx --test ${programs.join(' ')}`);
      for (const name of ['openapi-typescript', '@hey-api/openapi-ts', 'orval']) {
        const version = new RegExp(`"${name}": "(.*)"`);
        report(name, 'typescript/package.json', version, 'generated, type-checked, called');
      }
    }),
};

const python: Suite = {
  needs: { python3: 'Python 3.11 or newer' },
  run: () =>
    prepare('python', ['client', 'models.py'], async (folder, env) => {
      const shell = await pythonShell(folder, join(folder, 'requirements.txt'), env);
      await shell.run(
        'openapi-python-client generate --path openapi.json --output-path client --meta none',
      );
      await shell.run(
        'datamodel-codegen --input openapi.json --output models.py ' +
          '--openapi-scopes schemas paths parameters --use-annotated --use-operation-id-as-name ' +
          '--enum-field-as-literal all --type-mappings byte=string --formatters builtin',
      );
      await shell.run('mypy client models.py call_client.py call_models.py');
      await shell.run('python3 call_client.py');
      await shell.run('python3 call_models.py');
      for (const name of ['openapi-python-client', 'datamodel-code-generator']) {
        const version = new RegExp(`^${name}==(.*)$`, 'm');
        report(name, 'python/requirements.txt', version, 'generated, checked by mypy, called');
      }
    }),
};

const go: Suite = {
  needs: { go: 'Go 1.26 or newer' },
  run: () =>
    prepare('go', ['oapi', 'ogen'], async (folder, env) => {
      mkdirSync(join(folder, 'oapi'));
      const shell = new Shell(folder, [], { ...env, GOFLAGS: '-mod=readonly' });
      await shell.run('go tool oapi-codegen -config oapi.yaml openapi.json');
      await shell.run('go tool ogen -config ogen.yml -target ogen -package ogen openapi.json');
      await shell.run('go vet ./...');
      await shell.run('go test -count=1 ./...');
      for (const name of ['oapi-codegen/v2', 'ogen-go/ogen']) {
        const version = new RegExp(`${name} v(\\S+)`);
        report(name, 'go/go.mod', version, 'generated, compiled, checked by go vet, called');
      }
    }),
};

const java: Suite = {
  needs: { javac: 'a JDK of Java 17 or newer', mvn: 'Maven 3.8 or newer' },
  run: () =>
    prepare('java', ['target'], async (folder, env) => {
      await new Shell(folder, [], env).run('mvn -B -q test');
      const version = /openapi-generator-maven-plugin<\/artifactId>\s*<version>(.*)<\/version>/;
      report('openapi-generator', 'java/pom.xml', version, 'generated, compiled, called');
    }),
};

/** test/openapi/schemathesis.toml names what is not checked, and why. Any other finding fails. */
const schemathesis: Suite = {
  needs: { python3: 'Python 3.11 or newer' },
  async run() {
    const token = 'a-token';
    const authorization = `Bearer ${token}`;
    const folder = join(builds, 'schemathesis');
    const requirements = join(root, 'test/openapi/schemathesis-requirements.txt');
    const shell = await pythonShell(folder, requirements, { TANDEM_TOKEN: token });
    const settings = join(root, 'test/openapi/schemathesis.toml');
    const call = async (origin: string): Promise<void> => {
      await writeDocument(origin, folder, { authorization });
      const args = ['--config-file', settings, 'run', 'openapi.json', '--url', origin];
      const printed = await shell.run('st', ...args, '--no-color');
      console.log(printed.trim().split('\n').at(-1));
    };
    await serve(call, {
      authenticate: ({ headers }) => {
        if (headers.authorization !== authorization) throw new RpcError(401, 'who are you?');
      },
    });
  },
};

export const httpApiSuites = { typescript, python, go, java, schemathesis };
