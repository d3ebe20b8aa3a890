import type { RateNotice } from '../../dispatch/quota/rate-limit.ts';

/**
 * What a reply tells of the caller's rate limit (draft-ietf-httpapi-ratelimit-headers-11): flat, name and value. Seconds are rounded up:
 * who waits so long finds that something is left. Browsers show such headers to a page only where they are exposed.
 */
export function rateLimitLines(notice: RateNotice | undefined): readonly string[] {
  if (notice === undefined) return [];
  const { quota, windowSeconds, left, resetMs } = notice;
  return [
    'ratelimit-policy',
    `"default";q=${quota};w=${windowSeconds}`,
    'ratelimit',
    `"default";r=${left};t=${Math.ceil(resetMs / 1000)}`,
    'access-control-expose-headers',
    'ratelimit, ratelimit-policy',
  ];
}
