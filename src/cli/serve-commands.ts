import type { Command } from 'commander';
import { type OptionName, optionNames } from '../core/config/config.ts';
import { table } from '../core/config/table.ts';
import { addConfigOptions, formatItem, givenFlags } from './options.ts';

const serveFooter = `
A flag wins over its environment variable, the first variable named over the next. Durations take a unit
(500ms, 30s, 5m), sizes too (512kb, 10mb). A switch has both forms: --strict and --no-strict.

The modules are JavaScript or TypeScript files; each exports a Router, as default or as "router".

Examples:
  tandem serve ./procedures.ts
  tandem serve ./procedures.mjs --host 0.0.0.0 --port 9000 --cors-origin https://app.example.com
  PORT=9000 TANDEM_WORKERS=4 tandem serve ./a.js ./b.js
  tandem serve ./procedures.ts --nats nats://127.0.0.1:4222
`;

// The code of a command is loaded when the command runs: help and version need none of it.

/** `tandem serve <module...>` */
export function addServe(program: Command, version: string): void {
  const command = program
    .command('serve')
    .summary('serve the procedures of modules over HTTP')
    .description('Serves the procedures of one or more modules over HTTP, merged in order.')
    .argument('<module...>', 'files that export a Router')
    .configureHelp({ formatItem })
    .addHelpText('after', serveFooter);
  addConfigOptions(command).action(async (modules: string[]) => {
    const { serve } = await import('./serve.ts');
    await serve(modules, givenFlags(command), version);
  });
}

const gatewayFooter = `
Examples:
  tandem gateway --nats nats://127.0.0.1:4222
  tandem gateway ./local.ts --nats nats://a:4222 --nats nats://b:4222 --service orders --service users
`;

/** `tandem gateway [module...]` */
export function addGateway(program: Command, version: string): void {
  const command = program
    .command('gateway')
    .summary('serve over HTTP what members on other machines serve over NATS')
    .description(
      'Serves over HTTP the procedures of all members that share its NATS, and those of its own modules.',
    )
    .argument('[module...]', 'files that export a Router: their procedures run in this process')
    .configureHelp({ formatItem })
    .addHelpText('after', gatewayFooter);
  addConfigOptions(command).action(async (modules: string[]) => {
    const { serve } = await import('./serve.ts');
    await serve(modules, { natsRole: 'gateway', ...givenFlags(command) }, version);
  });
}

const mcpFooter = `
For hosts of agents that start their servers themselves. One message a line comes on stdin, and one goes out on
stdout; the log, and whatever the modules print, goes to stderr. The end of stdin ends the program.

TANDEM_MCP_AUTH (JSON) is context.auth of every call. Nobody is asked who calls: who starts the program does.

Examples:
  tandem mcp ./procedures.ts
  TANDEM_MCP_AUTH='{"sub":"me"}' tandem mcp ./a.js ./b.js --mcp-tools 'math.*' --workers 2
`;

/** Options of groups that are about HTTP, or about a service of several processes. */
const otherGroups = new Set<string>(['Network', 'Processes']);

/** Options of other groups that mean nothing here: there is one client, on streams, and no page of figures. */
const others = new Set<OptionName>([
  'bodyTimeoutMs',
  'writeTimeoutMs',
  'streamPingMs',
  'socketIdleMs',
  'maxReplyMemory',
  'maxConnections',
  'maxStreamsPerConnection',
  'maxInFlightPerCaller',
  'maxHeaders',
  'maxHeaderBytes',
  'rateLimit',
  'mcp',
  'mcpPath',
  'strict',
  'introspection',
  'metrics',
  'metricsPort',
  'tracing',
  'http',
]);

/** The options of `tandem mcp`. */
const mcpOptions: readonly OptionName[] = optionNames.filter(
  (name) => !others.has(name) && !otherGroups.has(table[name].group),
);

/** `tandem mcp <module...>` */
export function addMcp(program: Command): void {
  const command = program
    .command('mcp')
    .summary('offer the procedures of modules to an agent, on stdin and stdout')
    .description(
      'Offers the procedures of modules as tools by the Model Context Protocol, on stdin and stdout.',
    )
    .argument('<module...>', 'files that export a Router')
    .configureHelp({ formatItem })
    .addHelpText('after', mcpFooter);
  addConfigOptions(command, mcpOptions).action(async (modules: string[]) => {
    const { serveMcp } = await import('./serve-mcp.ts');
    await serveMcp(modules, givenFlags(command), process.env);
  });
}
