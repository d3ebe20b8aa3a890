import { setReloader } from './router/router.ts';

export type { Static, TObject, TSchema } from '@sinclair/typebox';
export { RpcApp } from './app/app.ts';
export type { Address, AppOptions, ListenOptions } from './app/app-options.ts';
export type { MountOptions } from './app/mount-options.ts';
export { rpcApp } from './app/rpc-app.ts';
export { StartupError } from './base/startup-error.ts';
export type { ConfigOptions } from './config/config.ts';
export type { Caller, CallerKeyOf, CallerWeightOf } from './dispatch/caller-key.ts';
export type { PlacementCause, PlacementDecision } from './dispatch/placement.ts';
export type { RateLimit, RateLimitStore, RateState } from './dispatch/quota/rate-limit.ts';
export type { Authenticate, AuthRequest } from './http/edge/auth-request.ts';
export type { NodeHandler } from './http/node/handler.ts';
export type { UpgradeHandler } from './http/node/upgrade.ts';
export { ErrorCode, RpcError } from './jsonrpc/errors.ts';
export type { CallEvent, OnCall } from './observe/call-event.ts';
export type { LogEvent } from './observe/events.ts';
export type { Log } from './observe/log.ts';
export type { MetricsSnapshot } from './observe/snapshot.ts';
export type { CallLog } from './router/call-log.ts';
export type { CallContext } from './router/context.ts';
export type { ErrorDeclaration } from './router/declared-errors.ts';
export { defaultRouter, rpc } from './router/default.ts';
export {
  type ErrorSchema,
  getProcedureSchema,
  getRegistrySchema,
  type ParameterSchema,
  type ProcedureSchema,
  type RegistrySchema,
  type StreamSchema,
} from './router/document/introspect.ts';
export type { Effects } from './router/effects.ts';
export type { ContextOf, Env } from './router/env.ts';
export type { ContractFrom } from './router/from.ts';
export type { MergeOptions } from './router/merge-options.ts';
export { type Ended, type Middleware, type Next, reply } from './router/middleware/middleware.ts';
export type { Passed } from './router/middleware/passed.ts';
export { procedure } from './router/procedure.ts';
export { RegistrationError } from './router/registration-error.ts';
export { Router } from './router/router.ts';
export { type AnyRouter, DuplicateProcedureError } from './router/router-state.ts';
export type { Base64Options, TBase64 } from './router/schema/bytes.ts';
export type { JsonCannotCarry } from './router/schema/json-type.ts';
export { model } from './router/schema/model.ts';
export type { Input } from './router/schema/sides.ts';
export type { StandardSchema } from './router/schema/standard.ts';
export { Type } from './router/schema/type.ts';
export { Topic, type TopicOptions } from './router/stream/topic.ts';
export type {
  Handler,
  ParamIssue,
  Placement,
  Procedure,
  ProcedureEntry,
  StreamEntry,
  StreamOptions,
} from './router/types.ts';
export { type CallerOptions, createCaller } from './service/create-caller.ts';
export { Dispatcher } from './service/dispatcher.ts';
export type {
  DispatcherOptions,
  DispatcherStats,
  DispatchOptions,
} from './service/dispatcher-options.ts';
export { handleRequest } from './service/handle-request.ts';

// The loader reads files and most programs never reload: it is imported when one does.
setReloader(async (router, path) => {
  const { reloadInto } = await import('./modules/modules.ts');
  return reloadInto(router, path);
});
