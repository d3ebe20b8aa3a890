import type { Site, SiteName } from '../site.ts';

/** One thing that a client of the URLs sees, whichever way it comes in. */
export interface HttpCase {
  readonly title: string;
  /** What the service was started with. */
  readonly on?: SiteName;
  /** It is about calls that run where the request comes in. */
  readonly isInline?: boolean;
  run(site: Site): Promise<void>;
}
