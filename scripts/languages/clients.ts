/**
 * Clients in TypeScript, Python, Go and Java, generated from the OpenAPI document of test/fixtures/openapi/hard-shapes.ts, compiled
 * and run; and schemathesis, which makes up requests from that document. Generators, and what their code needs, are pinned in
 * test/languages by a lock file for each language.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AppOptions, RpcApp, RpcError } from '../../src/index.ts';
import { root } from '../../test/files.ts';
import { builds, installNode, pythonShell, Shell, type Suite } from './shell.ts';

interface Language {
  readonly needs: Readonly<Record<string, string>>;
  /** What was generated in the folder before, and goes. */
  readonly generated: readonly string[];
  readonly shell: (folder: string, env: NodeJS.ProcessEnv) => Shell | Promise<Shell>;
  readonly commands: readonly string[];
}

const python = { python3: 'Python 3.11 or newer' };

const languages: Readonly<Record<string, Language>> = {
  typescript: {
    needs: {},
    generated: ['openapi-fetch', 'hey-api', 'orval'],
    shell: async (folder, env) => {
      // The generators need Node 22, which is installed with them on Linux; elsewhere this one must do.
      const modules = join(folder, 'node_modules');
      const node = join(modules, `node-${process.platform}-${process.arch}/bin`);
      const shell = new Shell(folder, [node, join(modules, '.bin')], env);
      await new Shell(folder).install(join(folder, 'package-lock.json'), installNode);
      return shell;
    },
    commands: [
      'openapi-typescript openapi.json -o openapi-fetch/schema.ts --default-non-nullable false',
      'openapi-ts -f hey-api.config.mjs',
      'orval --config orval.config.mjs',
      // What was generated is compiled and run by the tools of this repository.
      `${process.execPath} ${join(root, 'node_modules/typescript/bin/tsc')} --noEmit`,
      `${process.execPath} --import tsx --test call-openapi-fetch.ts call-hey-api.ts call-orval.ts`,
    ],
  },
  python: {
    needs: python,
    generated: ['client', 'models.py'],
    shell: (folder, env) => pythonShell(folder, join(folder, 'requirements.txt'), env),
    commands: [
      'openapi-python-client generate --path openapi.json --output-path client --meta none',
      'datamodel-codegen --input openapi.json --output models.py ' +
        '--openapi-scopes schemas paths parameters --use-annotated --use-operation-id-as-name ' +
        '--enum-field-as-literal all --type-mappings byte=string --formatters builtin',
      'mypy client models.py call_client.py call_models.py',
      'python3 call_client.py',
      'python3 call_models.py',
    ],
  },
  go: {
    needs: { go: 'Go 1.26 or newer' },
    generated: ['oapi', 'ogen'],
    shell: async (folder, env) => {
      const shell = new Shell(folder, [], { ...env, GOFLAGS: '-mod=readonly' });
      const download = (): Promise<string> => shell.run('go mod download');
      // Go asks for a module once, where npm, pip and Maven ask again.
      await download().catch(download).catch(download);
      return shell;
    },
    commands: [
      'mkdir oapi',
      'go tool oapi-codegen -config oapi.yaml openapi.json',
      'go tool ogen -config ogen.yml -target ogen -package ogen openapi.json',
      'go vet ./...',
      'go test -count=1 ./...',
    ],
  },
  java: {
    needs: { javac: 'a JDK of Java 17 or newer', mvn: 'Maven 3.8 or newer' },
    generated: ['target'],
    shell: (folder, env) => new Shell(folder, [], env),
    commands: ['mvn -B -q test'],
  },
};

/** Serves hard shapes with worker threads for as long as `use` takes, with the document in `folder`. */
async function serve(
  folder: string,
  use: (origin: string) => Promise<void>,
  headers: Readonly<Record<string, string>> = {},
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
    const origin = `http://127.0.0.1:${(await app.listen()).port}`;
    const response = await fetch(`${origin}/openapi.json`, { headers });
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(await response.json(), null, 2));
    await use(origin);
  } finally {
    await app.close();
  }
}

function suiteOf(name: string, { needs, generated, shell, commands }: Language): Suite {
  const sources = join(root, 'test/languages');
  const folder = join(builds, name);
  const run = (): Promise<void> => {
    for (const made of generated) rmSync(join(folder, made), { recursive: true, force: true });
    cpSync(join(sources, name), folder, { recursive: true });
    return serve(folder, async (origin) => {
      const env = { TANDEM_URL: origin, TANDEM_VALUES: join(sources, 'values.json') };
      const built = await shell(folder, env);
      for (const command of commands) await built.run(command);
    });
  };
  return { needs, run };
}

/** test/openapi/schemathesis.toml names what is not checked, and why. Any other finding fails. */
const schemathesis: Suite = {
  needs: python,
  async run() {
    const token = 'a-token';
    const authorization = `Bearer ${token}`;
    const folder = join(builds, 'schemathesis');
    const requirements = join(root, 'test/openapi/schemathesis-requirements.txt');
    const shell = await pythonShell(folder, requirements, { TANDEM_TOKEN: token });
    const settings = join(root, 'test/openapi/schemathesis.toml');
    const call = async (origin: string): Promise<void> => {
      const args = ['--config-file', settings, 'run', 'openapi.json', '--url', origin];
      const printed = await shell.run('st', ...args, '--no-color');
      console.log(printed.trim().split('\n').at(-1));
    };
    const authenticate: AppOptions['authenticate'] = ({ headers }) => {
      if (headers.authorization !== authorization) throw new RpcError(401, 'who are you?');
    };
    await serve(folder, call, { authorization }, { authenticate });
  },
};

export const clients: Readonly<Record<string, Suite>> = {
  ...Object.fromEntries(
    Object.entries(languages).map(([name, language]) => [name, suiteOf(name, language)]),
  ),
  schemathesis,
};
