import { StartupError } from '../base/startup-error.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { shortened } from '../base/text.ts';
import { completeGroups, type GivenGroups, type GroupOptions } from './groups.ts';
import { flagOf, type Option, toUpperSnake, variableOf, variablePrefix } from './option.ts';
import { table } from './table.ts';

type Table = typeof table;
export type OptionName = keyof Table;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The value of every option: complete, checked and frozen. */
export type Config = { readonly [K in Exclude<OptionName, 'groups'>]: ValueOf<Table[K]> } & {
  readonly groups: Readonly<Record<string, GroupOptions>>;
};

/** Options as code passes them. An option that is left out or undefined has its default. */
export type ConfigOptions = {
  readonly [K in Exclude<OptionName, Listed | 'rateLimit' | 'checkResults' | 'groups'>]?:
    | Config[K]
    | undefined;
} & { readonly [K in Listed]?: string | readonly string[] | undefined } & {
  readonly checkResults?: Config['checkResults'] | boolean | undefined;
  readonly rateLimit?: Partial<Config['rateLimit']> | 'none' | undefined;
  readonly groups?: GivenGroups | 'none' | undefined;
};

/** Options that are lists. Code may pass a single entry instead of a list. */
type Listed =
  | 'corsOrigin'
  | 'corsHeaders'
  | 'allowedHosts'
  | 'trustedProxies'
  | 'nats'
  | 'service'
  | 'mcpTools'
  | 'mcpAuthorizationServers'
  | 'mcpScopes'
  | 'httpProcedures';

export const optionNames = Object.keys(table) as readonly OptionName[];

/** `value` as text for a message: short, and always on one line. */
function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  const text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value));
  return shortened(text, 60, '...');
}

function settle<T>({ kind }: Option<T>, source: string, value: unknown, given: unknown): T {
  const settled = kind.check(value);
  if (settled !== undefined) return settled;
  const fault = value === undefined ? undefined : kind.faultOf?.(value);
  const [allowed, wrong] =
    fault === undefined
      ? [kind.allowed, given]
      : [`${fault.where} to be ${fault.allowed}`, fault.given];
  throw new StartupError(
    `${source}: expected ${allowed}, got ${show(wrong)}${didYouMean(fault?.near)}`,
  );
}

/**
 * What a flag or a variable says, not checked yet. A text that names nothing is no value of any option: `--hooks "$HOOKS"`,
 * where nobody has set HOOKS, must not serve without hooks. Whoever wants none of something says none.
 */
function readText({ kind }: Option<unknown>, text: string): unknown {
  return /^[\s,]*$/.test(text) ? undefined : kind.fromText(text);
}

/** Flags by option name: text, true or false for a switch, a list for a flag that may be repeated. */
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * The options that the flags of a command line set.
 *
 * @throws StartupError naming the flag, the value and what is allowed
 */
export function optionsFromFlags(flags: FlagValues): ConfigOptions {
  const options: Record<string, unknown> = {};
  for (const name of optionNames) {
    const given = flags[name];
    if (given === undefined) continue;
    const option: Option<unknown> = table[name];
    const text = typeof given === 'object' ? given.join(',') : given;
    const value = typeof text === 'boolean' ? text : readText(option, text);
    options[name] = settle(option, `--${flagOf(name, option)}`, value, text);
  }
  return options;
}

function settleOption(name: OptionName, options: ConfigOptions, env: NodeJS.ProcessEnv): unknown {
  const option: Option<unknown> = table[name];
  const given: unknown = options[name];
  if (given !== undefined) return settle(option, `option ${name}`, given, given);
  const variable = variableOf(name, option);
  const text = env[variable] ?? '';
  // An empty variable counts as not set: compose files and CI leave a variable out by setting it to nothing.
  if (text.trim() === '') return undefined;
  return settle(option, variable, readText(option, text), text);
}

function assertKnown(options: object, otherNames: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name)) continue;
    const near = suggest(name, [...optionNames, ...otherNames]);
    const hint = didYouMean(near) || ': docs/reference/options.md lists them';
    throw new StartupError(`option ${name} is unknown${hint}`);
  }
}

function refuseIf(isWrong: boolean, message: string): void {
  if (isWrong) throw new StartupError(message);
}

function assertBoth(config: Config, one: OptionName, other: OptionName): void {
  if ((config[one] === '') === (config[other] === '')) return;
  const [given, missing] = config[one] === '' ? [other, one] : [one, other];
  throw new StartupError(`option ${given} needs ${missing} beside it: give both, or neither`);
}

function assertNats(config: Config): void {
  assertBoth(config, 'natsKey', 'natsCert');
  refuseIf(
    config.natsCreds !== '' && config.natsNkey !== '',
    'options natsCreds and natsNkey: a client logs in by one of them; give the one that the server wants',
  );
}

function assertTogether(config: Config): void {
  assertBoth(config, 'tlsKey', 'tlsCert');
  refuseIf(
    config.corsCredentials && config.corsOrigin === '*',
    'option corsCredentials needs a list in corsOrigin: with * any page could act for whoever has logged in',
  );
  for (const [memory, largest] of [
    ['maxBodyMemory', 'maxBodyBytes'],
    ['maxReplyMemory', 'maxReplyBytes'],
  ] as const) {
    refuseIf(
      config[memory] < config[largest],
      `option ${memory} (${config[memory]}) must not be below ${largest} (${config[largest]}): nothing of that size could come through`,
    );
  }
  refuseIf(
    config.processes > 1 && !config.supervisor,
    `option processes (${config.processes}) needs the supervisor: leave it on, or serve in one process`,
  );
  refuseIf(
    config.adminSocket !== '' && process.platform === 'win32',
    'option adminSocket: Windows has no Unix sockets whose files say who may connect; leave it out',
  );
  refuseIf(
    config.socket !== '' && config.processes > 1,
    `option socket: a Unix socket is of one process, so ${config.processes} can't be had; set processes to 1`,
  );
  refuseIf(
    config.fairBy.startsWith('header:') && config.trustedProxies.length === 0,
    `option fairBy (${config.fairBy}) needs trustedProxies: anybody else may send any such header, and be another caller each time`,
  );
  assertNats(config);
  refuseIf(
    config.accessLog && config.logLevel !== 'info' && config.logLevel !== 'debug',
    `option accessLog: its lines have the level info, and logLevel is ${config.logLevel}: set that to info, or leave accessLog off`,
  );
  if (config.mcp) assertSignIn(config);
  assertPaths(config);
}

/** Where agents post to: what hosts of agents propose. */
export const mcpPath = '/mcp';

/** Where hosts of agents look for what protects a resource (RFC 9728, 3). */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

function assertSignIn(config: Config): void {
  const { mcpAuthorizationServers: servers, mcpScopes, publicUrl } = config;
  if (servers.length === 0) {
    refuseIf(
      mcpScopes.length > 0,
      'option mcpScopes needs mcpAuthorizationServers beside it: the issuers where hosts of agents sign in',
    );
    return;
  }
  refuseIf(
    publicUrl === '',
    'option mcpAuthorizationServers needs publicUrl beside it: hosts of agents ask a token for the URL that they connect to',
  );
  refuseIf(
    !URL.canParse(publicUrl),
    `option publicUrl: ${publicUrl} is no URL, and hosts of agents ask a token for the URL that they connect to`,
  );
}

/** The path of the OpenAPI document, beside the URLs of the procedures. */
export const openApiPath = '/openapi.json';

/** What has a path of its own if it is on, and what to turn off instead. `isTree`: all paths below are its own, too. */
function takenPaths({ console, metrics, mcp, introspection, ...rest }: Config) {
  const asksForSignIn = mcp && rest.mcpAuthorizationServers.length > 0;
  const hasOpenApi = introspection && rest.httpPath !== '';
  return [
    { at: '/console', what: 'where the console is', off: 'console', isOn: console, isTree: true },
    { at: '/metrics', what: 'where the metrics are', off: 'metrics', isOn: metrics },
    { at: mcpPath, what: 'where agents post to', off: 'mcp', isOn: mcp },
    { at: '/healthz', what: 'where health checks are answered', isOn: true },
    { at: '/readyz', what: 'where health checks are answered', isOn: true },
    { at: openApiPath, what: 'where the OpenAPI document is', off: 'httpPath', isOn: hasOpenApi },
    {
      at: resourceMetadataPath,
      what: 'where hosts of agents learn where to sign in',
      isOn: asksForSignIn,
      isTree: true,
    },
  ].filter(({ isOn }) => isOn);
}

function assertPaths(config: Config): void {
  const { path, httpPath } = config;
  const taken = takenPaths(config);
  for (const { at, what, off, isTree } of taken) {
    const isTaken = (one: string): boolean =>
      one === at || (isTree === true && one.startsWith(`${at}/`));
    const advice = off === undefined ? '' : `, or turn ${off} off`;
    refuseIf(isTaken(path), `option path: ${path} is ${what}; choose another path${advice}`);
    refuseIf(
      isTaken(httpPath),
      `option httpPath: ${httpPath} is ${what}; choose another path${advice}`,
    );
  }
  if (httpPath === '') return;
  // Every name below `httpPath` may be that of a procedure, so nothing else may be there.
  for (const { at, what } of [...taken, { at: path, what: 'the path of the calls' }]) {
    refuseIf(
      at === httpPath || at.startsWith(`${httpPath}/`),
      `option httpPath: ${at} is ${what}; choose a path that neither is it nor contains it, such as /api`,
    );
  }
}

/**
 * Resolves the complete configuration. The value of an option comes from `options`, else from `env`, else it is the
 * default.
 *
 * @param env only the command line passes it: a library must not change with the environment of the program that
 *   imports it
 * @param otherNames names that the caller handles itself: an unknown option may be a misspelling of one of them
 * @throws StartupError one line naming the option or variable, the value and what is allowed
 */
export function resolveConfig(
  options: ConfigOptions = {},
  env: NodeJS.ProcessEnv = {},
  otherNames: readonly string[] = [],
): Config {
  assertKnown(options, otherNames);
  const given: Record<string, unknown> = {};
  for (const name of optionNames) given[name] = settleOption(name, options, env);
  for (const name of optionNames) {
    const { fallback }: Option<unknown> = table[name];
    given[name] ??= 'from' in fallback ? fallback.from(given) : fallback.value;
  }
  given.groups = completeGroups(given.groups as GivenGroups, given);
  // The cast is safe: the kind of each row has checked the value of its option.
  const config = Object.freeze(given) as Config;
  assertTogether(config);
  return config;
}

/** Environment variables that look like misspelt options, each with the name that was probably meant. */
export function misspeltVariables(env: NodeJS.ProcessEnv): { name: string; meant: string }[] {
  // Compared without the prefix: all names that share it would look alike. The option's own name is a misspelling of its flag.
  const spellings = new Map(
    optionNames.flatMap((name) => {
      const option: Option<unknown> = table[name];
      const variable = variableOf(name, option);
      return [name, flagOf(name, option)].map((words) => [toUpperSnake(words), variable] as const);
    }),
  );
  const known = new Set(spellings.values());
  return Object.keys(env)
    .filter((name) => name.startsWith(variablePrefix) && !known.has(name))
    .flatMap((name) => {
      const near = suggest(name.slice(variablePrefix.length), spellings.keys());
      const meant = near && spellings.get(near);
      return meant === undefined ? [] : [{ name, meant }];
    });
}
