import type { Heartbeat } from '../../../nats/heartbeat.ts';

/** How a member looks from outside. */
export type Standing = 'ready' | 'draining' | 'silent' | 'lost';

export interface Member extends Heartbeat {
  readonly service: string;
  readonly standing: Standing;
  /** Milliseconds since its last heartbeat. */
  readonly silentMs: number;
}

interface Heard {
  readonly service: string;
  readonly heartbeat: Heartbeat;
  readonly at: number;
}

/** How long a member that is lost is still shown, milliseconds. */
const shownMs = 60_000;

/** The members that were heard while somebody watched. */
export class Members {
  readonly #silentMs: number;
  readonly #lostMs: number;
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
    this.#heard.set(heartbeat.id, { service, heartbeat, at: now - this.#away(now) });
    this.#lost.delete(heartbeat.id);
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
    for (const [id, { service, heartbeat, at }] of this.#heard) {
      const silentMs = time - at;
      const isLate = silentMs > this.#silentMs;
      if (silentMs > shownMs || (isLate && heartbeat.state === 'draining')) {
        this.#heard.delete(id);
        continue;
      }
      if (silentMs > this.#lostMs) this.#lost.add(id);
      const standing = silentMs > this.#lostMs ? 'lost' : isLate ? 'silent' : heartbeat.state;
      members.push({ ...heartbeat, service, standing, silentMs });
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
