import type { Address } from '../app/app-options.ts';
import type { Hooks } from '../app/hooks.ts';
import type { Config } from '../config/config.ts';
import { coresHere } from '../config/cores.ts';
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
