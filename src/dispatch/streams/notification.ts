import { subscriptionNames } from '../../router/stream/subscription-names.ts';
import type { StreamCall } from './contract.ts';

/** The method of the notifications that bring the values of a call's stream. For transports, which know no router. */
export function notificationOf({ procedure }: StreamCall): string {
  return subscriptionNames(procedure).notification;
}
