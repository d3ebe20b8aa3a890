import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Dispatcher } from '../../../src/index.ts';
import { moduleUrl } from '../../files.ts';
import { patience } from '../../patience.ts';
import type { ObjectRecipe } from './recipe.ts';

const fixture = moduleUrl('test/fixtures/hostile/schemas.ts');

/** Modules written for a set of schemas each: what a process has imported it does not import again. */
export class SchemaModules {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tandem-schemas-'));
  #count = 0;

  async serve(recipes: readonly ObjectRecipe[]): Promise<Dispatcher> {
    const file = join(this.#folder, `schemas-${++this.#count}.mjs`);
    const recipesText = JSON.stringify(JSON.stringify(recipes));
    writeFileSync(
      file,
      `import { routerOf } from ${JSON.stringify(fixture)};\nexport default routerOf(JSON.parse(${recipesText}));\n`,
    );
    const options = {
      workers: 1,
      spareWorkers: 0,
      logLevel: 'silent',
      checkResults: 'refuse',
      ...patience,
    } as const;
    const dispatcher = new Dispatcher({ modules: [file], ...options });
    await dispatcher.ready();
    return dispatcher;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
