/** `import 'tandem-rpc'`. Of the program's TypeBox only the files that hold its state are loaded: six of 220. */
import { shareStateOf, type TypeBoxState } from './share-state.ts';

async function loadState(): Promise<TypeBoxState> {
  const entry = import.meta.resolve('@sinclair/typebox');
  const load = (path: string) => import(new URL(path, entry).href) as Promise<TypeBoxState>;
  try {
    const [registries, system] = await Promise.all([
      load('./type/registry/index.mjs'),
      load('./system/policy.mjs'),
    ]);
    return { ...registries, ...system };
  } catch {
    // A TypeBox that has its files elsewhere: its public names are all of it.
    const [all, system] = await Promise.all([
      import('@sinclair/typebox'),
      import('@sinclair/typebox/system'),
    ]);
    return { ...all, ...system };
  }
}

shareStateOf(await loadState());

export * from '../src/import.ts';
