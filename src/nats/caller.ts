/** What the hook `authenticate` is told of who calls over NATS. NATS names no sender. */
export interface NatsFacts {
  /** Names in lower case, repeated headers joined with ", ". Read only. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: undefined;
  readonly method: 'NATS';
  /** The subject. */
  readonly path: string;
}
