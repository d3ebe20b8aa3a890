import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const registryFile = /@sinclair\/typebox\/build\/esm\/type\/registry\/(format|type)\.mjs$/;

/** Bundles TypeBox, its registries replaced by those of registries.ts. @param folder where that lies */
export function bundleTypeBox(folder: string): Plugin {
  const entries = ['index.ts', 'required.ts'].map((name) => join(folder, name));
  return {
    name: 'typebox',
    setup(build) {
      // What is shared is the program's own.
      build.onResolve({ filter: /^@sinclair\/typebox(\/|$)/ }, ({ path, importer }) =>
        entries.includes(importer) ? { path, external: true } : undefined,
      );
      build.onLoad({ filter: registryFile }, ({ path }) => {
        const name = `${registryFile.exec(path)?.[1]}s`;
        const contents = `import { ${name} } from './registries.ts';
export const { Entries, Clear, Delete, Has, Set, Get } = ${name};`;
        return { contents, loader: 'ts', resolveDir: folder };
      });
    },
  };
}
