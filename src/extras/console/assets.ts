import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { packageFolder } from '../../core/base/package-files.ts';

/** One file of the page, as the build has compressed it. */
export interface Asset {
  readonly type: string;
  /** By Brotli. */
  readonly packed: Uint8Array;
  /** For who can't read Brotli: browsers read it over https only. Unpacked once. */
  unpacked(): Promise<Uint8Array>;
}

/** Where the build puts the page (scripts/console.ts). */
const folder = new URL('dist/console/', packageFolder);
const manifestFile = new URL('manifest.json', folder);

/** What to do where the page is not there: only a checkout can lack it. */
export const notBuilt =
  'this checkout has no console yet: npm run build:console makes it, in some seconds; then start again';

export function isBuilt(): boolean {
  return existsSync(manifestFile);
}

/** Few threads ever unpack anything: what can is loaded then. */
async function unpack(packed: Uint8Array): Promise<Uint8Array> {
  const { brotliDecompress } = await import('node:zlib');
  return promisify(brotliDecompress)(packed);
}

/** The files of the page, each read when it is first asked for. */
export class Assets {
  readonly #types: Readonly<Record<string, string>>;
  readonly #read = new Map<string, Promise<Asset>>();

  /** @throws Error where the page is not built */
  constructor() {
    this.#types = Object.assign(
      Object.create(null),
      JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, string>,
    );
  }

  /** @returns undefined for a name that is no file of the page */
  get(name: string): Promise<Asset> | undefined {
    const type = this.#types[name];
    if (type === undefined) return undefined;
    let asset = this.#read.get(name);
    if (asset === undefined) {
      asset = read(name, type);
      this.#read.set(name, asset);
      // Too many files may be open now: the next request reads it again.
      asset.catch(() => this.#read.delete(name));
    }
    return asset;
  }
}

async function read(name: string, type: string): Promise<Asset> {
  const packed = await readFile(new URL(`${name}.br`, folder));
  let unpacked: Promise<Uint8Array> | undefined;
  return {
    type,
    packed,
    unpacked() {
      unpacked ??= unpack(packed);
      return unpacked;
    },
  };
}
