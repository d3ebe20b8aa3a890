/** Whom the NATS side of a process tells of what an operator should know. */
export interface NatsEvents {
  /** The connection is lost. The client tries to come back until the process ends. */
  disconnected(): void;
  /** @param afterMs since the connection was lost */
  reconnected(afterMs: number): void;
  /** The permissions of the server do not allow it. Told once for each subject. */
  denied(operation: 'publish' | 'subscription', subject: string): void;
  /** Code of this package threw at a message of `subject`. The connection goes on. */
  callbackFailed(subject: string, error: unknown): void;
}

/** Whom a gateway tells of its members. */
export interface GatewayEvents {
  memberJoined(id: string, version: string): void;
  /** It gets no new calls. */
  memberSilent(id: string): void;
  memberBack(id: string): void;
  /** @param state `draining`: it had said that it would go */
  memberGone(id: string, state: 'ready' | 'draining'): void;
  /** Members serve different contracts, whose fingerprints these are. */
  contractsDiffer(contracts: readonly string[]): void;
}
