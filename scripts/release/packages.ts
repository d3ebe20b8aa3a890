/** The packages as they are to be published: those of this repository, and uWebSockets.js with one package for each platform. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { npm, run } from './run.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
}

/** The ABIs (`process.versions.modules`) from that of Node 20 on: older ones the package does not run on. */
const oldestAbi = 115;

export interface MadePackage {
  readonly name: string;
  readonly version: string;
  /** The package's files, as the registry gets them. */
  readonly folder: string;
}

/**
 * Builds and packs everything into `to`. The package.json files of the repository stay as they are: what is
 * changed is that of the packed packages.
 *
 * @param isPacked which platforms get a package, by names such as `linux-x64`
 * @returns in the order in which they have to be published
 */
export function makePackages(
  root: string,
  to: string,
  isPacked: (platform: string) => boolean,
): MadePackage[] {
  const uws = join(root, 'node_modules/uWebSockets.js');
  const natives = makeNatives(uws, to, isPacked);
  const loader = makeLoader(root, uws, to, natives);
  const client = packed(root, ['--workspace', 'tandem-rpc-client'], join(to, 'tandem-rpc-client'));
  const main = packed(root, [], join(to, 'tandem-rpc'), (manifest) => ({
    ...manifest,
    optionalDependencies: {
      ...(manifest.optionalDependencies as object),
      'uWebSockets.js': `npm:${loader.name}@${loader.version}`,
    },
  }));
  const create = packed(root, [join(root, 'packages/create')], join(to, 'create-tandem-rpc'));
  for (const { name, version } of [client, create]) {
    if (version !== main.version)
      throw new Error(`${name} is ${version}, and tandem-rpc ${main.version}`);
  }
  return [...natives, loader, client, main, create];
}

/** Packs as `npm publish` does, with the scripts, and unpacks into `folder`. */
function packed(
  root: string,
  what: readonly string[],
  folder: string,
  change: (manifest: Manifest) => object = (manifest) => manifest,
): MadePackage {
  mkdirSync(folder, { recursive: true });
  npm(['pack', '--silent', ...what, '--pack-destination', folder], { cwd: root });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  run('tar', ['-xzf', tarball, '--strip-components=1'], { cwd: folder });
  run('rm', [tarball], { cwd: folder });
  const manifest = readManifest(folder);
  // Provenance is signed by the CI that publishes: a local registry has none.
  const { provenance: _signed, ...publishConfig } = (manifest.publishConfig ?? {}) as {
    provenance?: boolean;
  };
  writeManifest(folder, { ...change(manifest), publishConfig });
  return { name: manifest.name, version: manifest.version, folder };
}

/** One package for each platform, with the binaries for all versions of Node that this project runs on. */
function makeNatives(
  uws: string,
  to: string,
  isPacked: (platform: string) => boolean,
): MadePackage[] {
  const { version } = readManifest(uws);
  const platforms = new Map<string, string[]>();
  for (const file of readdirSync(uws)) {
    const [, platform, abi] = /^uws_([a-z0-9]+_[a-z0-9]+)_(\d+)\.node$/.exec(file) ?? [];
    if (platform === undefined || Number(abi) < oldestAbi) continue;
    const name = platform.replace('_', '-');
    if (isPacked(name)) platforms.set(name, [...(platforms.get(name) ?? []), file]);
  }
  return [...platforms].map(([platform, files]) => {
    const [os = '', cpu = ''] = platform.split('-');
    // There are no binaries for musl: npm leaves the package out there.
    const isLinux = os === 'linux';
    const name = `tandem-rpc-uws-${platform}${isLinux ? '-glibc' : ''}`;
    const folder = join(to, name);
    mkdirSync(folder);
    for (const file of [...files, 'LICENSE', 'source_commit']) {
      copyFileSync(join(uws, file), join(folder, file));
    }
    writeFileSync(
      join(folder, 'README.md'),
      `# ${name}\n\nThe binaries of uWebSockets.js for ${platform}, unchanged. Made for \`tandem-rpc-uws\`, which loads them.\n`,
    );
    writeManifest(folder, {
      name,
      version,
      description: `The binaries of uWebSockets.js for ${platform}, for tandem-rpc.`,
      license: 'Apache-2.0',
      os: [os],
      cpu: [cpu],
      ...(isLinux && { libc: ['glibc'] }),
    });
    return { name, version, folder };
  });
}

/** What `import 'uWebSockets.js'` finds: the declarations, and the code that loads the binary of the platform. */
function makeLoader(
  root: string,
  uws: string,
  to: string,
  natives: readonly MadePackage[],
): MadePackage {
  const { version } = readManifest(uws);
  const name = 'tandem-rpc-uws';
  const folder = join(to, name);
  mkdirSync(folder);
  for (const file of ['LICENSE', 'source_commit', 'index.d.ts', 'ESM_wrapper.mjs']) {
    if (!existsSync(join(uws, file))) throw new Error(`uWebSockets.js has no ${file}`);
    copyFileSync(join(uws, file), join(folder, file));
  }
  for (const file of ['uws.js', 'README.md']) {
    copyFileSync(join(root, 'packages/uws', file), join(folder, file));
  }
  writeManifest(folder, {
    name,
    version,
    description: 'uWebSockets.js with the binaries of one platform, for tandem-rpc.',
    license: 'Apache-2.0',
    main: 'uws.js',
    types: './index.d.ts',
    optionalDependencies: Object.fromEntries(natives.map((one) => [one.name, one.version])),
  });
  return { name, version, folder };
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

function writeManifest(folder: string, manifest: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
