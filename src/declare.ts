/** What procedure modules import. A worker thread loads no more. */
import { setReloader } from './core/procedures/router.ts';

export type { Static, TObject, TSchema } from '@sinclair/typebox';
export { createCaller, handleRequest } from './caller/create-caller.ts';
export type { CallerOptions } from './caller/runs.ts';
export { RegistrationError } from './core/base/registration-error.ts';
export { StartupError } from './core/base/startup-error.ts';
export {
  type BatchContext,
  type BatchHandler,
  type BatchOptions,
  inOrder,
} from './core/procedures/batch.ts';
export type {
  Broadcast,
  BroadcastContext,
  BroadcastOptions,
  BroadcastResult,
  SetupContext,
} from './core/procedures/broadcast.ts';
export type { CallContext, CallLog, ContextOf, Env } from './core/procedures/context.ts';
export type { CacheOptions, Effects, ErrorDeclaration } from './core/procedures/declarations.ts';
export {
  type ErrorSchema,
  getProcedureSchema,
  getRegistrySchema,
  type ParameterSchema,
  type ProcedureSchema,
  type RegistrySchema,
  type StreamSchema,
} from './core/procedures/document/introspect.ts';
export type { ContractFrom } from './core/procedures/from.ts';
export type { Passed } from './core/procedures/middleware.ts';
export { type Ended, type Middleware, type Next, reply } from './core/procedures/middleware.ts';
export { procedure } from './core/procedures/procedure.ts';
export type { MergeOptions } from './core/procedures/router.ts';
export {
  type AnyRouter,
  DuplicateProcedureError,
  defaultRouter,
  Router,
  rpc,
} from './core/procedures/router.ts';
export { Topic, type TopicOptions } from './core/procedures/stream.ts';
export type {
  Handler,
  Placement,
  Procedure,
  ProcedureEntry,
  StreamEntry,
  StreamOptions,
} from './core/procedures/types.ts';
export { ErrorCode, RpcError } from './core/protocol/errors.ts';
export type { Input, JsonCannotCarry, StandardSchema } from './core/schema/declared.ts';
export type { ParamIssue } from './core/schema/explain.ts';
export type { Base64Options, TBase64 } from './core/schema/type.ts';
export { model, Type } from './core/schema/type.ts';

// The loader reads files and most programs never reload: it is imported when one does.
setReloader(async (router, path) => {
  const { reloadInto } = await import('./core/modules/modules.ts');
  return reloadInto(router, path);
});
