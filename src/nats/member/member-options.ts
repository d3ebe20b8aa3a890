import type { Authenticator } from '../../dispatch/authenticate.ts';
import type { Service } from '../../dispatch/service.ts';
import type { NatsFacts } from '../caller.ts';
import type { NatsConnection } from '../connection/connection.ts';

/** A contract that a member serves. */
export interface ServedContract {
  /** The fingerprint of its procedures. */
  readonly id: string;
  /** What describes them, for gateways: see router/document/description.ts. */
  readonly document: () => Uint8Array;
}

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
  /** What serves now. */
  readonly contract: () => ServedContract;
}
