import type { WireReply } from '../wire/to-gateway.ts';

/** What has come of large replies that have not come whole, by the tickets of their calls. */
export class ReplyParts {
  readonly #parts = new Map<number, Uint8Array[]>();

  /** Replies of which parts have come. */
  get size(): number {
    return this.#parts.size;
  }

  add(ticket: number, bytes: Uint8Array): void {
    const parts = this.#parts.get(ticket) ?? [];
    // A view of what the socket has read.
    parts.push(new Uint8Array(bytes));
    this.#parts.set(ticket, parts);
  }

  drop(ticket: number): void {
    this.#parts.delete(ticket);
  }

  clear(): void {
    this.#parts.clear();
  }

  /** Replies with what has come of them before. */
  whole(replies: readonly WireReply[]): readonly WireReply[] {
    return replies.map((reply) => {
      const parts = this.#parts.get(reply.ticket) ?? [];
      this.#parts.delete(reply.ticket);
      if (typeof reply.body === 'string') return reply;
      return { ...reply, body: new Uint8Array(Buffer.concat([...parts, reply.body])) };
    });
  }
}
