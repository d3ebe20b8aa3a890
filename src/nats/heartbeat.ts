/** `draining`: it takes no new calls, and finishes those it has. */
export type MemberState = 'ready' | 'draining';

/** What a member tells all gateways, again and again. */
export interface Heartbeat {
  /** A name that no other process ever has. */
  readonly id: string;
  readonly state: MemberState;
  /** The fingerprint of what it serves. */
  readonly contract: string;
  readonly version: string;
  /** When the process started, Unix milliseconds. */
  readonly started: number;
  /** Calls that it has of gateways. */
  readonly load: number;
  /** Gateways that it knows of. */
  readonly gateways: number;
  /** Calls that it has taken of gateways since it started. */
  readonly calls: number;
  /** How often it has come back to NATS: what was sent to it meanwhile is lost. */
  readonly returns: number;
}

export function heartbeatText(heartbeat: Heartbeat): string {
  return JSON.stringify(heartbeat);
}

/** @throws Error for what is no heartbeat */
export function parseHeartbeat(data: Uint8Array): Heartbeat {
  const read: unknown = JSON.parse(Buffer.from(data).toString());
  const heartbeat = (read ?? {}) as Heartbeat;
  const { id, state, contract, version, started, load, gateways, calls, returns } = heartbeat;
  const isOne =
    [id, contract, version].every((text) => typeof text === 'string' && text.length <= 256) &&
    [started, load, gateways, calls, returns].every((number) => typeof number === 'number') &&
    (state === 'ready' || state === 'draining');
  if (!isOne) throw new Error('no heartbeat of a member');
  return { id, state, contract, version, started, load, gateways, calls, returns };
}
