export { type ClientOptions, type ClientOptionsWithoutStreams, createClient } from './client.ts';
export type { Bytes, Contract, ContractEntry, ContractError, ContractOf } from './contract.ts';
export { hasCode, RpcError, RpcTransportError } from './errors.ts';
// What the transports beside this file use of it, under names that cost a page next to nothing.
/** @internal */
export { post as _p, toRequest as _r } from './exchange.ts';
export type { Hint, Hints } from './hints.ts';
/** @internal */
export { decode as _d, encode as _e } from './hints.ts';
export type { CallOptions, Method } from './method.ts';
export {
  type Call,
  type CallError,
  type CallErrorOf,
  type Outcome,
  type OutcomeOf,
  type Pending,
  type StreamCall,
  settle,
  type UnreadStream,
} from './outcome.ts';
/** @internal */
export { readReplies as _a, resultOf as _o } from './reply.ts';
export type { Endpoint, Fetch, FetchResponse, HeadersSource } from './request.ts';
/** @internal */
export { mayRepeat as _m } from './retry.ts';
export type { Readable, Send, StreamCallOptions, Transport } from './transport.ts';
export type {
  BatchCall,
  CallErrors,
  CallParams,
  CallResult,
  Client,
  ClientMethods,
} from './types.ts';
