import type { Dispatcher } from '../core/service/dispatcher.ts';
import type { Operated } from '../server/supervisor/admin/orders.ts';

/** Takes CPU profiles of a service. What does that is loaded by the first one. */
export function profilerOf(dispatcher: Dispatcher): Operated['profile'] {
  return async (order, left) => {
    const { takeProfile } = await import('../extras/insight/profile.ts');
    return takeProfile(dispatcher.profiled, order, left);
  };
}
