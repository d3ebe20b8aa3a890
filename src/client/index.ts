export { type ClientOptions, createClient } from './client.ts';
export type { Contract, ContractEntry, ContractError, ContractOf } from './contract.ts';
export { hasCode, RpcError, RpcTransportError } from './errors.ts';
export type { Fetch, FetchResponse, HeadersSource } from './exchange.ts';
export type { Hint, Hints } from './hints.ts';
export type { CallOptions, Method } from './method.ts';
export {
  type Call,
  type CallError,
  type CallErrorOf,
  type Outcome,
  type OutcomeOf,
  type Pending,
  settle,
} from './outcome.ts';
export type { BatchCall, Client, ClientMethods } from './types.ts';
