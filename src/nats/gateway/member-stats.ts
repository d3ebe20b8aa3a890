/** One member as a gateway sees it. */
export interface MemberStats {
  readonly id: string;
  readonly version: string;
  /** `new`: what it serves is not known yet. */
  readonly state: 'ready' | 'draining' | 'silent' | 'hung' | 'new';
  /** Procedures that it serves. */
  readonly procedures: number;
  /** Calls and streams of this gateway that are with it; calls of others, as it has told last. */
  readonly inFlight: number;
  readonly streams: number;
  readonly othersLoad: number;
  /** Calls of which nobody knows whether they ran. */
  readonly lost: number;
  /** When it started, Unix milliseconds. */
  readonly started: number;
}

/** `up`: it is heard of; `silent`: it gets no new calls; `hung`: its calls were given up. */
export type MemberCondition = 'up' | 'silent' | 'hung';
