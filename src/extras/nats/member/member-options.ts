import type { Config } from '../../../core/config/config.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type { NatsConnection, NatsFacts } from '../connection/connection.ts';

export interface ServedContract {
  /** See `contractOf`. */
  readonly id: string;
  /** What describes its procedures, for gateways: see `describeProcedure`. */
  readonly document: Uint8Array;
}

/** What a member keeps for gateways that it does not hear. */
export const defaultRetention = {
  /** A gateway that is silent for so long has gone, milliseconds: its calls are cancelled. */
  goneMs: 3000,
  /** After so long what is kept for it is dropped, milliseconds. */
  forgottenMs: 30_000,
  /** Above so many bytes of replies that wait for one gateway its calls begin later; if it is out of reach, the oldest replies are dropped. */
  bytes: 32 * 1024 ** 2,
};
export type Retention = Readonly<typeof defaultRetention>;

export interface MemberOptions extends Pick<Config, 'maxBodyBytes' | 'natsTrustAuth'> {
  readonly connection: NatsConnection;
  readonly service: Service;
  readonly name: string;
  /** A name that no other process ever has. */
  readonly id: string;
  readonly version: string;
  /** When the process started, Unix milliseconds. */
  readonly started: number;
  /** Asked without `natsTrustAuth`; undefined: nobody is known. */
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  /** How often it tells gateways that it lives, milliseconds. */
  readonly heartbeatMs: number;
  /** After so long a silence gateways send it no new calls, milliseconds. */
  readonly silentMs: number;
  readonly retention: Retention;
  /** What serves now. */
  readonly contract: () => ServedContract;
}
