import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause, type Server } from './server.ts';

/** Debian keeps it below the folder of the architecture. */
const library = 'faketime/libfaketime.so.1';

/** The path of libfaketime; undefined: it is not installed. */
export function findFaketime(): string | undefined {
  const roots = ['/usr/lib', '/usr/local/lib'].filter((root) => existsSync(root));
  const folders = roots.flatMap((root) => [root, ...readdirSync(root).map((f) => join(root, f))]);
  return folders.map((folder) => join(folder, library)).find((path) => existsSync(path));
}

/** How far the clock of the server may be from where it was put: the time an answer takes, and more. */
const exactMs = 5000;

/** The library looks once a second; so often is the server asked whether it has. */
const askMs = 20;
const maxAsked = 3000;

/** The wall clock of one process, which libfaketime puts forward and back. Monotonic clocks are left alone. */
export class SteppedClock {
  readonly env: Readonly<Record<string, string>>;
  steps = 0;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tandem-clock-'));
  readonly #file = join(this.#folder, 'offset');
  #offsetSeconds = 0;

  /** @param library path of libfaketime */
  constructor(library: string) {
    this.#write();
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // Seconds until the file is read again.
      FAKETIME_CACHE_DURATION: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /**
   * Moves the clock, and resolves when the server has seen it move.
   *
   * @throws Error it does not
   */
  async step(seconds: number, server: Server): Promise<void> {
    this.#offsetSeconds += seconds;
    this.#write();
    for (let asked = 0; asked < maxAsked; asked++) {
      const told = (await server.tell('clock')) as number;
      if (Math.abs(told - Date.now() - this.#offsetSeconds * 1000) < exactMs) {
        this.steps++;
        return;
      }
      await pause(askMs);
    }
    throw new Error(`libfaketime did not move the server's clock by ${seconds} s`);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #write(): void {
    const sign = this.#offsetSeconds < 0 ? '' : '+';
    writeFileSync(this.#file, `${sign}${this.#offsetSeconds}`);
  }
}
