import { BroadcastChannel } from 'node:worker_threads';

type What = 'began' | 'aborted' | 'ended';

/**
 * What the procedures of test/fixtures/executors tell of themselves, from whatever thread, and how they are released.
 * What one thread tells is heard in the order in which it was told.
 */
export class Board {
  readonly #channel = new BroadcastChannel('tandem-executors');
  readonly #heard: string[] = [];
  readonly #released = new Set<string>();
  readonly #waiting = new Map<string, () => void>();

  constructor() {
    this.#channel.onmessage = (event) => {
      const { what, tag } = (event as { data: { what?: What; tag?: string } }).data;
      if (what === undefined || tag === undefined) return;
      this.#heard.push(`${tag} ${what}`);
      this.#waiting.get(`${tag} ${what}`)?.();
      // It may have begun on a thread that was not there when it was released.
      if (what === 'began' && this.#released.has(tag)) this.#channel.postMessage({ release: tag });
    };
  }

  /** Lets a call of `hold` end, now or when it comes. */
  release(tag: string): void {
    this.#released.add(tag);
    this.#channel.postMessage({ release: tag });
  }

  /** Resolves when a call has told so. */
  until(tag: string, what: What): Promise<void> {
    if (this.has(tag, what)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(`${tag} ${what}`, resolve);
    });
  }

  has(tag: string, what: What): boolean {
    return this.#heard.includes(`${tag} ${what}`);
  }

  /** What calls have told, in that order. */
  of(tags: readonly string[]): string[] {
    return this.#heard.filter((line) => tags.includes(line.split(' ')[0] ?? ''));
  }

  close(): void {
    this.#channel.close();
  }
}
