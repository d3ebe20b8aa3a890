/** All that people import: what procedure modules declare, and the services. */
export type { ConfigOptions } from './core/config/config.ts';
export type { Caller, CallerKeyOf, CallerWeightOf } from './core/dispatch/caller-key.ts';
export type { PlacementCause, PlacementDecision } from './core/dispatch/placement.ts';
export type { RateLimit, RateLimitStore, RateState } from './core/dispatch/rate-limit.ts';
export type { CallEvent, OnCall } from './core/observe/call-event.ts';
export type { LogEvent } from './core/observe/events.ts';
export type { Log } from './core/observe/log.ts';
export type { MetricsSnapshot } from './core/observe/snapshot.ts';
export type {
  DispatcherOptions,
  DispatcherStats,
  DispatchOptions,
} from './core/service/context.ts';
export { Dispatcher } from './core/service/dispatcher.ts';
export * from './declare.ts';
export { RpcApp, rpcApp } from './server/app/app.ts';
export type {
  Address,
  AppOptions,
  FetchOptions,
  ListenOptions,
  MountOptions,
} from './server/app/app-options.ts';
export type { Authenticate, AuthRequest } from './server/http/edge/http-options.ts';
export type { FetchHandler } from './server/http/fetch/handler.ts';
export type { NodeHandler } from './server/http/node/handler.ts';
export type { UpgradeHandler } from './server/http/node/upgrade.ts';
