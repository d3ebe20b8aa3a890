import type { RateNotice } from '../../dispatch/quota/rate-limit.ts';

/**
 * The headers that tell a caller its rate limit (draft-ietf-httpapi-ratelimit-headers-11): flat, name and value.
 * Seconds are rounded up, so that a caller who waits that long finds calls left. Browsers show such headers to a page
 * only where they are exposed.
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
