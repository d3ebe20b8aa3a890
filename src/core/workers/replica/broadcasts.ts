import {
  type Broadcast,
  type BroadcastResult,
  type ThreadBroadcasts,
  toBroadcastRequest,
} from '../../procedures/broadcast.ts';
import type { BroadcastCommand, ReplicaSender } from '../wire/messages.ts';

interface PendingBroadcast {
  readonly resolve: (results: BroadcastResult[]) => void;
  readonly reject: (error: Error) => void;
}

/** The broadcasts of a worker's thread: runs those that the main thread sends, and asks for those of `context.broadcast`. */
export class ReplicaBroadcasts {
  readonly #sender: ReplicaSender;
  readonly #own: ThreadBroadcasts;
  readonly #onFailed: (name: string, detail: string) => void;
  readonly #asked = new Map<number, PendingBroadcast>();
  #lastNumber = 0;

  /**
   * @param own those of the modules that this thread has loaded
   * @param onFailed told the name and the stack of each that has thrown
   */
  constructor(
    sender: ReplicaSender,
    own: ThreadBroadcasts,
    onFailed: (name: string, detail: string) => void,
  ) {
    this.#sender = sender;
    this.#own = own;
    this.#onFailed = onFailed;
  }

  /** `context.broadcast` of the calls of this thread. */
  readonly ask: Broadcast = (name, params, options) =>
    new Promise((resolve, reject) => {
      const request = toBroadcastRequest(name, params, options);
      const number = ++this.#lastNumber;
      this.#asked.set(number, { resolve, reject });
      this.#sender.notify({ type: 'broadcast', number, ...request });
    });

  obey(command: BroadcastCommand): void {
    if (command.type === 'broadcast') {
      void this.#run(command);
      return;
    }
    const { number, results } = command;
    const asked = this.#asked.get(number);
    this.#asked.delete(number);
    if (Array.isArray(results)) asked?.resolve(results);
    else asked?.reject(new Error(results.error));
  }

  async #run(command: Extract<BroadcastCommand, { readonly type: 'broadcast' }>): Promise<void> {
    const { number, name } = command;
    const outcome = await this.#own.run(command);
    if (!outcome.ok && outcome.detail !== undefined) this.#onFailed(name, outcome.detail);
    const { ok, text } = outcome;
    this.#sender.notify({ type: 'broadcast-ended', number, ok, text });
  }
}
