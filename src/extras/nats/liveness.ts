import type { NatsConnection } from './connection/connection.ts';
import { jsonOf, MalformedMessage } from './wire.ts';

/** How often a member tells gateways that it lives, and how loaded it is, milliseconds. */
export const heartbeatMs = 500;

/** When a gateway gives a member up, and how much it sends to one. */
export const memberLimits = {
  /**
   * A member that is silent for so long gets no new calls, milliseconds. Four heartbeats: one that is lost makes nobody silent, and
   * pauses of a busy machine are shorter.
   */
  silentMs: 2000,
  /** The calls of a member that is connected and silent for so long are answered with -32002, milliseconds. */
  hungMs: 10_000,
  /**
   * The calls of a member are answered with -32002 after nobody has listened at its subject for so long, milliseconds. A member that
   * has lost its connection is back sooner.
   */
  goneMs: 3000,
  /** Calls that one gateway has with one member; further ones wait at the gateway. Bounds what a member that stops can hold up. */
  inFlight: 1024,
  /**
   * Bytes of bodies that one gateway has with one member together; a single larger body is sent alone. The server holds what is sent
   * to a member that stops, and past a bound it disconnects others.
   */
  bytes: 8 * 1024 ** 2,
};
export type MemberLimits = Readonly<typeof memberLimits>;

/** `draining`: it takes no new calls, and finishes those it has. */
export type MemberState = 'ready' | 'draining';

export interface Heartbeat {
  /** A name that no other process ever has. */
  readonly id: string;
  readonly state: MemberState;
  /** The name of what it serves: see `contractOf`. */
  readonly contract: string;
  readonly version: string;
  /** When the process started, Unix milliseconds. */
  readonly started: number;
  /** Calls that it has of gateways. */
  readonly load: number;
  readonly gateways: number;
  /** Calls that it has taken of gateways since it started. */
  readonly calls: number;
  /** How often it has come back to NATS: what was sent to it meanwhile is lost. */
  readonly returns: number;
}

/** Bytes of the longest heartbeat: three texts of 256 characters. */
const longest = 8192;

/** @throws MalformedMessage for what is no heartbeat */
export function parseHeartbeat(data: Uint8Array): Heartbeat {
  const heartbeat = (jsonOf(data, longest) ?? {}) as Heartbeat;
  const { id, state, contract, version, started, load, gateways, calls, returns } = heartbeat;
  const isOne =
    [id, contract, version].every((text) => typeof text === 'string' && text.length <= 256) &&
    [started, load, gateways, calls, returns].every((number) => typeof number === 'number') &&
    (state === 'ready' || state === 'draining');
  if (!isOne) throw new MalformedMessage('no heartbeat of a member');
  return { id, state, contract, version, started, load, gateways, calls, returns };
}

const most = 1000;

/** A candidate keeps its place for so long at least, milliseconds: members and gateways answer within a few. */
const minMs = 250;

/**
 * A candidate that has not answered after so long is dropped, milliseconds. A gateway without calls says every 10 s that it lives: if
 * its first answer was lost, its session must last until then, or its first calls would be answered with -32002.
 */
const maxMs = 30_000;

/**
 * Members, or gateways, that have told of themselves and have not yet answered. Anybody can make up names, so they are bounded: a
 * new one takes the place of the oldest one, if that has had its time. Pure: it knows no clock.
 */
export class Candidates<T> {
  /** The oldest ones first. */
  readonly #all = new Map<string, { readonly one: T; readonly since: number }>();

  get(id: string): T | undefined {
    return this.#all.get(id)?.one;
  }

  /** Whether one more may be added; drops the oldest one for it. */
  makeRoom(now: number): boolean {
    if (this.#all.size < most) return true;
    for (const [id, { since }] of this.#all) {
      if (now - since < minMs) return false;
      return this.#all.delete(id);
    }
    return false;
  }

  /** Only after `makeRoom`. One of that name is replaced. */
  add(id: string, one: T, now: number): void {
    this.#all.delete(id);
    this.#all.set(id, { one, since: now });
  }

  delete(id: string): void {
    this.#all.delete(id);
  }

  /** Drops those that have not answered. */
  expire(now: number): void {
    for (const [id, { since }] of this.#all) {
      if (now - since < maxMs) return;
      this.#all.delete(id);
    }
  }

  clear(): void {
    this.#all.clear();
  }
}

/**
 * Asks the NATS server for an answer before processes that are silent are judged. What they had sent comes before that
 * answer: so an outage of NATS does not look like their death.
 *
 * @param judge called when the server has answered; never if the connection is lost meanwhile
 * @returns asks, unless an answer is still awaited or the connection is down
 */
export function silenceCheck(connection: NatsConnection, judge: () => void): () => void {
  let isAsking = false;
  const end = (): void => {
    isAsking = false;
  };
  return () => {
    if (isAsking || !connection.connected) return;
    isAsking = true;
    connection.flush().then(end).then(judge, end);
  };
}
