/**
 * `npm run test:languages [-- LANGUAGE...] [-- --update]`: clients in TypeScript, Python, Go and Java, generated from the OpenAPI
 * document of test/fixtures/openapi/hard-shapes.ts, compiled, and run against a server of this repository with worker threads.
 *
 *   --update   writes the TypeScript clients to test/languages/typescript. Without it they must be as they are generated
 *
 * The generators and what their code needs are pinned in test/languages, by a lock file for each language, and installed in
 * .build/languages. Nothing of them is a dependency of this package.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { messageOf } from '../src/core/base/message-of.ts';
import { RpcApp } from '../src/index.ts';
import { findProgram } from '../test/programs.ts';
import { fail } from './arguments.ts';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const sources = join(root, 'test/languages');
const builds = join(root, '.build/languages');
const fixture = 'test/fixtures/openapi/hard-shapes.ts';
/** Longest run of one program: the first one downloads. */
const limitMs = 600_000;

interface Language {
  readonly name: string;
  /** Programs, and what brings them. */
  readonly needs: readonly (readonly [program: string, install: string])[];
  /** Installs, generates, compiles and calls. */
  run(given: Given): Promise<void>;
}

interface Given {
  /** Of the server, without a path. */
  readonly url: string;
  readonly update: boolean;
}

/** Runs one program after the other in a folder. A program fails with all that it has printed. */
class Shell {
  readonly folder: string;
  readonly #env: NodeJS.ProcessEnv;

  /** @param paths where programs are found first */
  constructor(folder: string, paths: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.folder = folder;
    this.#env = { ...process.env, ...env, PATH: [...paths, process.env.PATH].join(delimiter) };
  }

  /**
   * @param command its words have no spaces in them
   * @param more arguments that may have some
   */
  async run(command: string, ...more: readonly string[]): Promise<void> {
    const [program = '', ...words] = command.split(' ');
    const args = [...words, ...more];
    const options = {
      cwd: this.folder,
      env: this.#env,
      timeout: limitMs,
      maxBuffer: 64 * 1024 * 1024,
    };
    await promisify(execFile)(program, args, options).catch(
      ({ message, stdout, stderr }: Error & { stdout: string; stderr: string }) => {
        throw new Error(`${command}: ${stdout}${stderr === '' ? message : stderr}`);
      },
    );
  }

  /** Installs once for each content of a lock file. */
  async install(lock: string, ...commands: readonly string[]): Promise<void> {
    const hash = createHash('sha256')
      .update(readFileSync(join(this.folder, lock)))
      .digest('hex');
    const mark = join(this.folder, '.installed');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return;
    for (const command of commands) await this.run(command);
    writeFileSync(mark, hash);
  }
}

/** Copies the files of a language to where they are built; what was generated before goes. */
function prepare(language: string, generated: readonly string[]): string {
  const folder = join(builds, language);
  mkdirSync(folder, { recursive: true });
  for (const name of generated) rmSync(join(folder, name), { recursive: true, force: true });
  cpSync(join(sources, language), folder, { recursive: true });
  cpSync(join(builds, 'openapi.json'), join(folder, 'openapi.json'));
  return folder;
}

/** The version of a package as a lock file has it. */
function versionIn(file: string, pattern: RegExp): string {
  return (
    pattern.exec(readFileSync(join(sources, file), 'utf8'))?.[1] ?? fail(`${file}: ${pattern}`)
  );
}

function report(tool: string, version: string, done: string): void {
  console.log(`${tool} ${version}: ${done}`);
}

const environment = (url: string): NodeJS.ProcessEnv => ({
  TANDEM_URL: url,
  TANDEM_VALUES: join(sources, 'values.json'),
});

const typeScript: Language = {
  name: 'typescript',
  needs: [],
  async run({ update }) {
    const clients = ['openapi-fetch', 'hey-api', 'orval'];
    const folder = prepare('node', clients);
    cpSync(join(sources, 'typescript/orval-send.ts'), join(folder, 'orval-send.ts'));
    const modules = join(folder, 'node_modules');
    await new Shell(folder).install(
      'package-lock.json',
      'npm ci --no-audit --no-fund --loglevel=error',
    );
    // The generators need Node 22, which is installed with them on Linux; elsewhere this one must do.
    const node = join(modules, `node-${process.platform}-${process.arch}/bin`);
    const shell = new Shell(folder, [node, join(modules, '.bin')]);
    await shell.run(
      'openapi-typescript openapi.json -o openapi-fetch/schema.ts --default-non-nullable false',
    );
    await shell.run('openapi-ts -f hey-api.config.mjs');
    await shell.run('orval --config orval.config.mjs');
    const kept = join(sources, 'typescript');
    if (update) {
      for (const client of clients) {
        rmSync(join(kept, client), { recursive: true, force: true });
        cpSync(join(folder, client), join(kept, client), { recursive: true });
      }
    }
    for (const client of clients) assertSame(join(folder, client), join(kept, client));
    const here = new Shell(root);
    await here.run('node node_modules/typescript/bin/tsc --noEmit -p test/languages/typescript');
    await here.run('node --import tsx scripts/test.ts test/languages');
    const version = (name: string) =>
      versionIn('node/package.json', new RegExp(`"${name}": "(.*)"`));
    const done = 'generated, as committed; type-checked; tests passed';
    report('openapi-typescript', version('openapi-typescript'), done);
    report('@hey-api/openapi-ts', version('@hey-api/openapi-ts'), done);
    report('orval', version('orval'), done);
  },
};

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** @throws Error that names the first file that is not as it is generated */
function assertSame(generated: string, kept: string): void {
  const names = new Set([...filesIn(generated), ...filesIn(kept)]);
  for (const name of names) {
    const [one, other] = [generated, kept].map((folder) => {
      const file = join(folder, name);
      return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    });
    if (one === other) continue;
    const file = relative(root, join(kept, name));
    throw new Error(`${file} is not current: run npm run test:languages -- --update and commit it`);
  }
}

const python: Language = {
  name: 'python',
  needs: [['python3', 'Python 3.11 or newer']],
  async run({ url }) {
    const folder = prepare('python', ['client', 'models.py']);
    const programs = join(folder, 'venv/bin');
    const shell = new Shell(folder, [programs], environment(url));
    await shell.run('python3 -c', 'import venv, ensurepip').catch(() => {
      throw new Error('python: Python has no module venv. Install it: python3-venv in Debian');
    });
    await shell.install(
      'requirements.txt',
      'python3 -m venv --clear venv',
      'pip install --quiet --disable-pip-version-check -r requirements.txt',
    );
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
    const version = (name: string) =>
      versionIn('python/requirements.txt', new RegExp(`^${name}==(.*)$`, 'm'));
    const done = 'generated, checked by mypy, called';
    report('openapi-python-client', version('openapi-python-client'), done);
    report('datamodel-code-generator', version('datamodel-code-generator'), done);
  },
};

const go: Language = {
  name: 'go',
  needs: [['go', 'Go 1.26 or newer']],
  async run({ url }) {
    const folder = prepare('go', ['oapi', 'ogen']);
    mkdirSync(join(folder, 'oapi'));
    const shell = new Shell(folder, [], { ...environment(url), GOFLAGS: '-mod=readonly' });
    await shell.run('go tool oapi-codegen -config oapi.yaml openapi.json');
    await shell.run('go tool ogen -config ogen.yml -target ogen -package ogen openapi.json');
    await shell.run('go vet ./...');
    await shell.run('go test -count=1 ./...');
    const version = (name: string) => versionIn('go/go.mod', new RegExp(`${name} v(\\S+)`));
    const done = 'generated, compiled, checked by go vet, called';
    report('oapi-codegen', version('github.com/oapi-codegen/oapi-codegen/v2'), done);
    report('ogen', version('github.com/ogen-go/ogen'), done);
  },
};

const java: Language = {
  name: 'java',
  needs: [
    ['javac', 'a JDK of Java 17 or newer'],
    ['mvn', 'Maven 3.8 or newer'],
  ],
  async run({ url }) {
    const folder = prepare('java', ['target']);
    await new Shell(folder, [], environment(url)).run('mvn -B -q test');
    const pattern = /openapi-generator-maven-plugin<\/artifactId>\s*<version>(.*)<\/version>/;
    report('openapi-generator', versionIn('java/pom.xml', pattern), 'generated, compiled, called');
  },
};

const languages = [typeScript, python, go, java];

/** @returns the languages that are asked for; all, if none is named */
function chosen(names: readonly string[]): readonly Language[] {
  const known = languages.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`${unknown}: no such language; there are ${known.join(', ')}`);
  return names.length === 0 ? languages : languages.filter(({ name }) => names.includes(name));
}

/** Before anything is installed: what is missing, by language. */
function assertPrograms(all: readonly Language[]): void {
  const missing = all.flatMap(({ name, needs }) =>
    needs
      .filter(([program]) => findProgram(program) === undefined)
      .map(([program, install]) => `${name}: ${program} is missing. Install ${install}`),
  );
  if (missing.length > 0) fail(missing.join('\n'));
}

const names = process.argv.slice(2).filter((arg) => arg !== '--update');
const asked = chosen(names);
assertPrograms(asked);
mkdirSync(builds, { recursive: true });
const app = new RpcApp({
  modules: [join(root, fixture)],
  httpPath: '/api',
  port: 0,
  workers: 1,
  logLevel: 'silent',
});
try {
  const { url } = await app.listen();
  const { origin } = new URL(url);
  const document = await fetch(`${origin}/openapi.json`);
  writeFileSync(join(builds, 'openapi.json'), JSON.stringify(await document.json(), null, 2));
  const given = { url: origin, update: process.argv.includes('--update') };
  for (const language of asked) {
    const before = performance.now();
    await language.run(given);
    console.log(`${language.name}: ${((performance.now() - before) / 1000).toFixed(0)} s`);
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await app.close();
}
