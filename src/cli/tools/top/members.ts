import type { Heartbeat } from '../../../extras/nats/liveness.ts';

/** How a member looks from outside. */
export type Standing = 'ready' | 'draining' | 'silent' | 'lost';

export interface Member extends Heartbeat {
  readonly service: string;
  readonly standing: Standing;
  /** Milliseconds since its last heartbeat. */
  readonly silentMs: number;
  /** Calls that it took in a second; undefined: it was not heard for long enough. */
  readonly callsPerSecond: number | undefined;
}

/** What tells a member from all others: a process has one id for all services that it is a member of. */
function keyOf(service: string, { id }: Heartbeat): string {
  return `${service} ${id}`;
}

interface Heard {
  readonly service: string;
  readonly heartbeat: Heartbeat;
  readonly at: number;
  /** Since when its calls are counted, and what it had taken then. */
  readonly from: { readonly at: number; readonly calls: number };
  readonly callsPerSecond: number | undefined;
}

/** Calls are counted over so long at least, milliseconds: heartbeats may come one upon another. */
const countedMs = 900;

/** How long a member that is lost is still shown, milliseconds. */
const shownMs = 60_000;

/** The members that were heard while somebody watched. */
export class Members {
  readonly #silentMs: number;
  readonly #lostMs: number;
  /** By {@link keyOf}, as those that were lost. */
  readonly #heard = new Map<string, Heard>();
  readonly #lost = new Set<string>();
  /** While NATS is away nobody can be heard. */
  #awayMs = 0;
  #awaySince: number | undefined;

  /** @param silentMs of silence make a member silent; `lostMs` make it lost */
  constructor(silentMs: number, lostMs: number) {
    this.#silentMs = silentMs;
    this.#lostMs = lostMs;
  }

  hear(service: string, heartbeat: Heartbeat, now: number): void {
    const at = now - this.#away(now);
    const { calls } = heartbeat;
    const key = keyOf(service, heartbeat);
    const before = this.#heard.get(key);
    // Another process under the same id counts anew.
    const isSame = before?.heartbeat.started === heartbeat.started && calls >= before.from.calls;
    let { from, callsPerSecond } = isSame
      ? before
      : { from: { at, calls }, callsPerSecond: undefined };
    if (at - from.at >= countedMs) {
      callsPerSecond = ((calls - from.calls) * 1000) / (at - from.at);
      from = { at, calls };
    }
    this.#heard.set(key, { service, heartbeat, at, from, callsPerSecond });
    this.#lost.delete(key);
  }

  /** NATS is not there, or is back. */
  setAway(isAway: boolean, now: number): void {
    if (isAway) {
      this.#awaySince ??= now;
      return;
    }
    this.#awayMs = this.#away(now);
    this.#awaySince = undefined;
  }

  /** Members that fell silent for good without having said that they end. */
  get lost(): number {
    return this.#lost.size;
  }

  /** Sorted by service, then by age. Forgets those that have gone. */
  list(now: number): Member[] {
    const time = now - this.#away(now);
    const members: Member[] = [];
    for (const [key, { service, heartbeat, at, callsPerSecond }] of this.#heard) {
      const silentMs = time - at;
      const isLate = silentMs > this.#silentMs;
      if (silentMs > shownMs || (isLate && heartbeat.state === 'draining')) {
        this.#heard.delete(key);
        continue;
      }
      if (silentMs > this.#lostMs) this.#lost.add(key);
      const standing = silentMs > this.#lostMs ? 'lost' : isLate ? 'silent' : heartbeat.state;
      members.push({ ...heartbeat, service, standing, silentMs, callsPerSecond });
    }
    return members.sort((a, b) => compare(a.service, b.service) || a.started - b.started);
  }

  #away(now: number): number {
    return this.#awayMs + (this.#awaySince === undefined ? 0 : now - this.#awaySince);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
