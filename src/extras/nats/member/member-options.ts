import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type { NatsConnection, NatsFacts } from '../connection/connection.ts';

/** A contract that a member serves. */
export interface ServedContract {
  /** The fingerprint of its procedures. */
  readonly id: string;
  /** What describes them, for gateways: see router/document/description.ts. */
  readonly document: () => Uint8Array;
}

/** What a member keeps for gateways that it does not hear. */
export interface Retention {
  /** A gateway that is silent for so long has gone, milliseconds: its calls are cancelled. */
  readonly goneMs: number;
  /** After so long what is kept for it is dropped, milliseconds. */
  readonly forgottenMs: number;
  /** Most bytes of replies that are kept for one gateway. */
  readonly bytes: number;
}

export const defaultRetention: Retention = {
  goneMs: 3000,
  forgottenMs: 30_000,
  bytes: 32 * 1024 ** 2,
};

export interface MemberOptions {
  readonly connection: NatsConnection;
  /** What answers the calls. */
  readonly service: Service;
  /** First token of the subjects. */
  readonly name: string;
  /** A name that no other process ever has. */
  readonly id: string;
  readonly version: string;
  /** When the process started, Unix milliseconds. */
  readonly started: number;
  readonly heartbeatMs: number;
  /** A member that was held up for so long knows that gateways have given up on it. */
  readonly silentMs: number;
  readonly maxBodyBytes: number;
  /** Whether it believes what gateways say of who calls. */
  readonly trustsAuth: boolean;
  /** Asked where it does not; undefined: nobody is known. */
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  readonly retention: Retention;
  /** What serves now. */
  readonly contract: () => ServedContract;
}
