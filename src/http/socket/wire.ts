/** One WebSocket, as the server underneath speaks it. Shared logic sees no more of it than this. */
export interface SocketWire {
  /** Sends one message, as text: at once, or together with others of this turn of the event loop. */
  send(reply: string | Uint8Array): void;
  /** Sends at once what was given to `send`, and tells the connection where the client does not read it. */
  flush(): void;
  ping(): void;
  /** Sends a close frame and ends. */
  end(code: CloseCode): void;
  /** Ends at once: what the client has not read is lost. */
  cut(): void;
  /**
   * Bytes that have come so far; undefined: the server underneath watches for silence itself. A message counts from
   * its first byte.
   */
  readonly received: number | undefined;
  /**
   * Whether a message has come in part; undefined: the server underneath does not tell. A client that answers no ping is
   * within a message then.
   */
  readonly isWithinMessage: boolean | undefined;
}

/** 1012, Service Restart: the client may connect again at once (registry of RFC 6455, 11.7). */
export type CloseCode = 1012;
