import { createConsole } from '../console/console.ts';
import type { ConsoleSite } from '../http/edge/console-site.ts';
import type { Dispatcher } from '../service/dispatcher.ts';

/**
 * The console of a service.
 *
 * @param isLocal whether only this machine can reach the server
 */
export function createSite(dispatcher: Dispatcher, isLocal: boolean): ConsoleSite {
  const { path, introspection, allowedHosts } = dispatcher.config;
  const { metrics } = dispatcher;
  return createConsole({
    path,
    introspection,
    localOnly: isLocal && allowedHosts.length === 0,
    figures: metrics && {
      get state() {
        return dispatcher.state;
      },
      snapshots: () => metrics.inTurns(),
      names: () => dispatcher.router.list(),
      placementOf: (name) =>
        dispatcher.state === 'starting' ? undefined : dispatcher.placementOf(name),
    },
  });
}
