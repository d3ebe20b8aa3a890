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
