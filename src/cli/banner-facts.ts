import type { Config } from '../core/config/config.ts';
import { coresHere } from '../core/config/cores.ts';
import type { Address } from '../server/app/app-options.ts';
import type { Hooks } from '../server/app/hooks.ts';
import type { BannerFacts } from './banner.ts';

/** What the banner says of a process that listens, with or without a supervisor. */
export function bannerFacts(
  { url, mcpUrl, consoleUrl }: Address,
  { modules, config, version }: { modules: readonly string[]; config: Config; version: string },
  hooks: Hooks,
): BannerFacts {
  return {
    ...config,
    url,
    mcpUrl,
    consoleUrl,
    version,
    hasModules: modules.length > 0,
    cores: coresHere(),
    authenticates: hooks.authenticate !== undefined,
  };
}
