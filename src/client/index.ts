export { type ClientOptions, type ClientOptionsWithoutStreams, createClient } from './client.ts';
export type { Bytes, Contract, ContractEntry, ContractError, ContractOf } from './contract.ts';
export type {
  Endpoint,
  Fetch,
  FetchResponse,
  HeadersSource,
  Readable,
  Send,
  StreamCallOptions,
  Transport,
} from './exchange.ts';
// What the transports beside this file use of it, under names that cost a page next to nothing.
/** @internal */
export { post as _p, readReplies as _a, resultOf as _o, toRequest as _r } from './exchange.ts';
export type { Hint, Hints } from './hints.ts';
/** @internal */
export { decode as _d, encode as _e } from './hints.ts';
export {
  type Call,
  type CallError,
  type CallErrorOf,
  hasCode,
  type Outcome,
  type OutcomeOf,
  type OverloadData,
  type OverloadReason,
  type Pending,
  RpcError,
  RpcTransportError,
  type StreamCall,
  settle,
  type UnreadStream,
} from './outcome.ts';
/** @internal */
export { mayRepeat as _m } from './run.ts';
export type {
  BatchCall,
  CallErrors,
  CallOptions,
  CallParams,
  CallResult,
  Client,
  ClientMethods,
  Method,
} from './types.ts';
