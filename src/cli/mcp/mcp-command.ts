import type { Command } from 'commander';
import { type OptionName, optionNames } from '../../core/config/config.ts';
import { table } from '../../core/config/table.ts';
import { addConfigOptions, formatItem, givenFlags } from '../options.ts';

const footer = `
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
export const mcpOptions: readonly OptionName[] = optionNames.filter(
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
    .addHelpText('after', footer);
  addConfigOptions(command, mcpOptions).action(async (modules: string[]) => {
    // Loaded here: help and version need nothing of a service.
    const { serveMcp } = await import('./serve-mcp.ts');
    await serveMcp(modules, givenFlags(command), process.env);
  });
}
