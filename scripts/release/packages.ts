/** The packages as they are to be published: those of this repository, and uWebSockets.js with one package for each platform. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Manifest, readManifest } from '../bundle.ts';
import { run } from '../run.ts';

/** The ABIs (`process.versions.modules`) from that of Node 20 on: older ones the package does not run on. */
const oldestAbi = 115;

/** @returns the tarball that npm makes of a folder or a workspace, with its scripts */
export async function pack(root: string, to: string, ...what: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(to, 'packed-'));
  await run('npm', ['pack', '--silent', ...what, '--pack-destination', folder], { cwd: root });
  const [name = ''] = readdirSync(folder);
  return join(folder, name);
}

/** Packs a folder that is made of files of uWebSockets.js, and of others. */
function packFiles(
  to: string,
  manifest: Pick<Manifest, 'name' | 'version'>,
  files: readonly string[],
  readme: string,
): Promise<string> {
  const folder = join(to, manifest.name);
  mkdirSync(folder);
  for (const file of files) copyFileSync(file, join(folder, file.slice(file.lastIndexOf('/'))));
  writeFileSync(join(folder, 'README.md'), readme);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  return pack(to, to, folder);
}

/**
 * Builds and packs everything into `to`. The package.json files of the repository stay as they are.
 *
 * @param isPacked which platforms get a package, by names such as `linux-x64`
 * @returns the tarballs
 */
export async function makePackages(
  root: string,
  to: string,
  isPacked: (platform: string) => boolean,
): Promise<string[]> {
  const uws = join(root, 'node_modules/uWebSockets.js');
  const { version } = readManifest(uws);
  const ofUws = (...names: string[]): string[] => names.map((name) => join(uws, name));
  const common = { version, license: 'Apache-2.0' };

  const binaries = new Map<string, string[]>();
  for (const file of readdirSync(uws)) {
    const [, os, cpu, abi] = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(file) ?? [];
    const platform = `${os}-${cpu}`;
    if (os === undefined || Number(abi) < oldestAbi || !isPacked(platform)) continue;
    binaries.set(platform, [...(binaries.get(platform) ?? []), file]);
  }
  const natives = new Map<string, string>();
  for (const [platform, files] of binaries) {
    const [os = '', cpu = ''] = platform.split('-');
    // There are no binaries for musl: npm leaves the package out there.
    const isLinux = os === 'linux';
    const name = `tandem-rpc-uws-${platform}${isLinux ? '-glibc' : ''}`;
    const description = `The binaries of uWebSockets.js for ${platform}, for tandem-rpc.`;
    const libc = isLinux ? { libc: ['glibc'] } : {};
    const manifest = { name, ...common, description, os: [os], cpu: [cpu], ...libc };
    const readme = `# ${name}\n\nThe binaries of uWebSockets.js for ${platform}, unchanged. Made for \`tandem-rpc-uws\`, which loads them.\n`;
    const all = ofUws(...files, 'LICENSE', 'source_commit');
    natives.set(name, await packFiles(to, manifest, all, readme));
  }
  // What `import 'uWebSockets.js'` finds: the declarations, and the code that loads the binary of the platform.
  const loader = {
    name: 'tandem-rpc-uws',
    ...common,
    description: 'uWebSockets.js with the binaries of one platform, for tandem-rpc.',
    main: 'uws.js',
    types: './index.d.ts',
    optionalDependencies: Object.fromEntries([...natives.keys()].map((name) => [name, version])),
  };
  const own = join(root, 'packages/uws');
  const files = ofUws('LICENSE', 'source_commit', 'index.d.ts', 'ESM_wrapper.mjs');
  const readme = readFileSync(join(own, 'README.md'), 'utf8');

  // The repository depends on the copy with all binaries, and its users on the loader.
  const main = mkdtempSync(join(to, 'main-'));
  await run('tar', ['-xzf', await pack(root, to), '--strip-components=1'], { cwd: main });
  const manifest = readManifest(main);
  const alias = { 'uWebSockets.js': `npm:${loader.name}@${version}` };
  const optionalDependencies = { ...manifest.optionalDependencies, ...alias };
  writeFileSync(join(main, 'package.json'), JSON.stringify({ ...manifest, optionalDependencies }));
  return [
    ...natives.values(),
    await packFiles(to, loader, [...files, join(own, 'uws.js')], readme),
    await pack(root, to, '--workspace', 'tandem-rpc-client'),
    await pack(main, to, '--ignore-scripts'),
    await pack(root, to, join(root, 'packages/create')),
  ];
}
