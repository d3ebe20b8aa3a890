import type { Figures } from './messages.ts';

export interface ReplacementLimits {
  /** 0: never. */
  readonly maxZombies: number;
  /** In MB; 0: never. */
  readonly maxProcessMb: number;
}

/** Which limit a process exceeds; undefined: none. */
export function excessOf(
  { zombies, rssBytes }: Figures,
  { maxZombies, maxProcessMb }: ReplacementLimits,
): 'zombies' | 'memory' | undefined {
  if (maxZombies > 0 && zombies >= maxZombies) return 'zombies';
  if (maxProcessMb > 0 && rssBytes > maxProcessMb * 1024 ** 2) return 'memory';
  return undefined;
}
