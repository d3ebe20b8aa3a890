import type { PlacementDecision } from '../dispatch/placement.ts';
import type { ServiceState } from '../dispatch/service.ts';
import type { PoolStats } from '../pool/stats.ts';
import type { DispatcherStats } from './dispatcher-options.ts';
import type { Parts } from './parts.ts';

/** The figures of a dispatcher as they are now. */
export function statsOf(state: ServiceState, parts: Parts): DispatcherStats {
  const { serving, bodies, replies, blockers, cluster } = parts;
  const loaded = serving.current;
  const placement: Record<string, PlacementDecision> = Object.create(null);
  if (loaded !== undefined) {
    for (const procedure of loaded.table.values()) {
      placement[procedure.name] = loaded.placementOf(procedure);
    }
  }
  const groups: Record<string, PoolStats> = Object.create(null);
  for (const [group, pool] of loaded?.pools ?? []) {
    if (group !== undefined) groups[group] = pool.stats();
  }
  return {
    state,
    inFlight: serving.inFlight,
    pool: loaded?.pools.get(undefined)?.stats(),
    groups,
    bodies: bodies.stats(),
    replies: replies.stats(),
    remote: cluster?.isGateway === true ? cluster.stats() : undefined,
    placement,
    blocked: blockers.figures,
  };
}
