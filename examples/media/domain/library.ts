/** What the service keeps, in SQLite. Each thread has a connection of its own. */
import Database from 'libsql';
import type { NewPhoto } from './csv.ts';

export interface Photo extends NewPhoto {
  readonly id: number;
  /** The name of the user whose photo it is. */
  readonly owner: string;
}

const schema = `
  CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, hash TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS photos (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, place TEXT NOT NULL, year INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS photos_of ON photos (owner);
`;

export class Library {
  readonly #db: Database.Database;

  /** @param file made where it does not exist */
  constructor(file: string) {
    this.#db = new Database(file, { timeout: 5000 });
    // Readers do not wait for a writer in another thread.
    this.#db.pragma('journal_mode = WAL');
    this.#db.exec(schema);
  }

  close(): void {
    this.#db.close();
  }

  /** @returns false where the name is taken */
  addUser(name: string, hash: string): boolean {
    return (
      this.#db.prepare('INSERT OR IGNORE INTO users VALUES (?, ?)').run(name, hash).changes === 1
    );
  }

  hashOf(name: string): string | undefined {
    const row = this.#db.prepare('SELECT hash FROM users WHERE name = ?').get(name);
    return (row as { hash: string } | undefined)?.hash;
  }

  /** Adds all of them or none. @returns how many */
  addPhotos(owner: string, photos: readonly NewPhoto[]): number {
    const insert = this.#db.prepare(
      'INSERT INTO photos (owner, title, place, year) VALUES (?, ?, ?, ?)',
    );
    this.#db.transaction(() => {
      for (const { title, place, year } of photos) insert.run(owner, title, place, year);
    })();
    return photos.length;
  }

  find(owner: string, id: number): Photo | undefined {
    const select = this.#db.prepare('SELECT * FROM photos WHERE owner = ? AND id = ?');
    return select.get(owner, id) as Photo | undefined;
  }

  /** Those whose title or place holds `text`, the latest first. */
  search(owner: string, text: string, limit: number): Photo[] {
    const select = this.#db.prepare(
      `SELECT * FROM photos WHERE owner = ? AND instr(lower(title || char(10) || place), lower(?)) > 0
       ORDER BY year DESC, id LIMIT ?`,
    );
    return select.all(owner, text, limit) as Photo[];
  }
}
