import { orHang } from '../../or-hang.ts';
import { callAt } from '../../post-json.ts';
import { badEdits, type Edit, goodEdit } from './edits.ts';
import type { Server } from './server.ts';

/** Reloads of the served modules: a bad edit, which must be refused, then a good one, which must take over. */
export class Reloader {
  /** Those that took over. */
  done = 0;
  refused = 0;
  readonly #url: string;
  readonly #server: Server;
  readonly #violations: string[];
  #bad = 0;
  #served = 0;

  constructor(url: string, server: Server, violations: string[]) {
    this.#url = url;
    this.#server = server;
    this.#violations = violations;
  }

  /** Of every two edits of a kind that hangs, one is mended before it is given up. */
  async bad(): Promise<void> {
    const edit = badEdits[this.#bad % badEdits.length] as Edit;
    const round = Math.floor(this.#bad / badEdits.length);
    this.#bad++;
    const settled = this.#server.tell('reload', edit.text).then(
      () => 'taken',
      (error: Error) => error.message,
    );
    if (edit.hangs && round % 2 === 1) {
      // Whoever asked for a reload that is superseded gets the outcome of its successor: what is served counts.
      await this.good();
      await settled;
      this.refused++;
      return;
    }
    const outcome = await settled;
    if (outcome === 'taken') this.#violations.push(`a reload of ${edit.name} was taken`);
    else this.refused++;
    // As an operator would: with the bad file on the disk no lost worker can be replaced.
    await this.#server.tell('edit', goodEdit(this.#served));
    await this.#assertServed(`after ${edit.name}`);
  }

  async good(): Promise<void> {
    const version = this.#served + 1;
    try {
      await this.#server.tell('reload', goodEdit(version));
    } catch (error) {
      this.#violations.push(`reload ${version}: ${String(error)}`);
      return;
    }
    this.#served = version;
    this.done++;
    await this.#assertServed(`after reload ${version}`);
  }

  async #assertServed(when: string): Promise<void> {
    for (const placement of ['inline', 'worker']) {
      const response = await orHang('a version', this.#ask(`${placement}.version`));
      if (response === this.#served) continue;
      this.#violations.push(`${when} ${placement} serves ${String(response)}, not ${this.#served}`);
    }
  }

  async #ask(method: string): Promise<unknown> {
    const { result, error } = await callAt(this.#url, method, {}, { connection: 'close' });
    return result ?? JSON.stringify(error);
  }
}
