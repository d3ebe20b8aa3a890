import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../turns.ts';

/** Where procedures on whatever thread write what they do: each line is one append, so none is lost. */
export class Journal {
  readonly folder = mkdtempSync(join(tmpdir(), 'tandem-journal-'));
  readonly file = join(this.folder, 'journal');
  /** Procedures that are held go on once this file is there. */
  readonly gate = `${this.file}.go`;

  constructor() {
    this.clear();
  }

  clear(): void {
    writeFileSync(this.file, '');
  }

  lines(): string[] {
    return readFileSync(this.file, 'utf8').split('\n').slice(0, -1);
  }

  count(line: string): number {
    return this.lines().filter((other) => other === line).length;
  }

  /** Resolves when a procedure has written the line, `times` times. */
  async until(line: string, times = 1): Promise<void> {
    await until(() => this.count(line) >= times);
  }

  release(): void {
    writeFileSync(this.gate, '');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
