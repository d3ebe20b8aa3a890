import type { StreamProducer } from '../../dispatch/streams/contract.ts';
import type { OpenStream } from '../../dispatch/streams/open-stream.ts';
import type { RpcError } from '../../jsonrpc/errors.ts';
import type { StreamCommand } from '../wire/messages.ts';
import { ItemKind } from '../wire/stream-item.ts';

/** What a stream needs of its worker. */
export interface StreamHome {
  grant(ticket: number, values: number, characters: number): void;
  tell(command: StreamCommand): void;
  /** The stream has ended for its reader. Its generator may go on. */
  onOver(stream: PooledStream): void;
  /** Its generator is gone. */
  onClosed(stream: PooledStream): void;
}

interface Item {
  readonly kind: number;
  readonly code: number;
  readonly text: string;
}

/** The front end's side of a stream whose generator runs in a worker. */
export class PooledStream implements StreamProducer {
  readonly ticket: number;
  readonly stream: OpenStream;
  /** Milliseconds that its generator may hold the thread without a break. */
  readonly timeoutMs: number;
  /** Since when nobody reads the generator's values, by `clockMs`; undefined: somebody does. */
  overSince: number | undefined;
  readonly #home: StreamHome;
  /** Values that were granted so far. */
  #granted = 0;
  /** The number of the item that is due. `#early`: items that came before their turn. */
  #next = 0;
  #early: Map<number, Item> | undefined;

  constructor(ticket: number, stream: OpenStream, timeoutMs: number, home: StreamHome) {
    this.ticket = ticket;
    this.stream = stream;
    this.timeoutMs = timeoutMs;
    this.#home = home;
  }

  /** See {@link StreamProducer}. */
  grant(values: number, characters: number): void {
    this.#granted += values;
    this.#home.grant(this.ticket, values, characters);
  }

  /** See {@link StreamProducer}. */
  cancel({ code, data }: RpcError): void {
    this.#home.onOver(this);
    this.#home.tell({ type: 'cancel', ticket: this.ticket, code, data });
  }

  /** See {@link StreamProducer}. */
  drain({ code, data }: RpcError): void {
    this.#home.tell({ type: 'drain', ticket: this.ticket, code, data });
  }

  /**
   * Takes an item that the worker tells of.
   *
   * @returns false for an item that can't be
   */
  take(number: number, item: Item): boolean {
    // Two items come beside the granted values: the end, and the message that the generator is gone.
    if (!Number.isSafeInteger(number) || number < this.#next || number > this.#granted + 1) {
      return false;
    }
    if (number > this.#next) {
      this.#early ??= new Map();
      this.#early.set(number, item);
      return true;
    }
    let next: Item | undefined = item;
    while (next !== undefined) {
      this.#next++;
      this.#apply(next);
      next = this.#early?.get(this.#next);
      this.#early?.delete(this.#next);
    }
    return true;
  }

  #apply({ kind, code, text }: Item): void {
    switch (kind) {
      case ItemKind.value:
        this.stream.value(text);
        break;
      case ItemKind.closed:
        this.#home.onClosed(this);
        break;
      default:
        this.#home.onOver(this);
        this.stream.end({ ok: kind === ItemKind.result, code, text });
    }
  }
}
