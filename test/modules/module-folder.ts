import { mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallContext } from '../../src/core/procedures/context.ts';
import type { Router } from '../../src/core/procedures/router.ts';
import { moduleUrl, temporaryFolder } from '../files.ts';

/** A temporary folder of procedure modules, outside of this package as its users' are. */
export class ModuleFolder {
  readonly path: string;

  /** @param t cleans up at the end, as a test's context does */
  constructor(t: Parameters<typeof temporaryFolder>[0]) {
    this.path = temporaryFolder(t);
  }

  /** @returns the file's absolute path */
  write(name: string, text: string): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** A module that `renew` makes another one each time, by a file that it imports. */
  writeRenewable(text: string): { module: string; renew: () => void } {
    let version = 0;
    const renew = (): void => {
      this.write('version.mjs', `export default ${++version};`);
    };
    renew();
    return { module: this.write('module.mjs', `import './version.mjs';\n${text}\n`), renew };
  }

  /** As many editors save: a new file takes the old one's name. */
  saveByRename(name: string, text: string): string {
    const path = this.write(`${name}.saving`, text);
    const target = join(this.path, name);
    renameSync(path, target);
    return target;
  }

  /** Dates a file relative to a moment, in seconds. */
  date(name: string, moment: number, seconds: number): void {
    const time = moment / 1000 + seconds;
    utimesSync(join(this.path, name), time, time);
  }

  /** Makes `tandem-rpc` lead to this package from here without any hook, as in an installed one. */
  installPackage(): void {
    const entry = fileURLToPath(packageUrl);
    const exports = `./${basename(entry)}`;
    this.write('node_modules/tandem-rpc/package.json', JSON.stringify({ exports }));
    symlinkSync(entry, join(this.path, 'node_modules/tandem-rpc', exports));
  }

  url(name: string): string {
    return pathToFileURL(join(this.path, name)).href;
  }
}

/** A module whose default export is a Router with one procedure. */
export function routerModule(name: string, expression: string, head = ''): string {
  return `import { Router } from 'tandem-rpc';
${head}
const router = new Router();
router.rpc(function ${name}() { return ${expression}; });
export default router;
`;
}

/** What the procedure's handler returns. */
export function call(router: Router, name: string, context: Partial<CallContext> = {}): unknown {
  const procedure = router.get(name);
  if (procedure === undefined) throw new Error(`no procedure ${name}`);
  const state = procedure.moduleState?.value;
  return procedure.handler({} as never, { state, ...context } as CallContext);
}

/** For modules that are imported before tandem-rpc's name leads anywhere from their folder. */
export const packageUrl = moduleUrl('src/index.ts');
