import type { Command } from 'commander';
import { addConfigOptions, formatItem, givenFlags } from './options.ts';

const footer = `
A flag wins over its environment variable, the first variable named over the next. Durations take a unit
(500ms, 30s, 5m), sizes too (512kb, 10mb). A switch has both forms: --strict and --no-strict.

The modules are JavaScript or TypeScript files; each exports a Router, as default or as "router".

Examples:
  tandem serve ./procedures.ts
  tandem serve ./procedures.mjs --host 0.0.0.0 --port 9000 --cors-origin https://app.example.com
  PORT=9000 TANDEM_WORKERS=4 tandem serve ./a.js ./b.js
  tandem serve ./procedures.ts --nats nats://127.0.0.1:4222
`;

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

/** `tandem serve <module...>` */
export function addServe(program: Command, version: string): void {
  const command = program
    .command('serve')
    .summary('serve the procedures of modules over HTTP')
    .description('Serves the procedures of one or more modules over HTTP, merged in order.')
    .argument('<module...>', 'files that export a Router')
    .configureHelp({ formatItem })
    .addHelpText('after', footer);
  addConfigOptions(command).action(async (modules: string[]) => {
    // Loaded here: help and version need nothing of the server.
    const { serve } = await import('./serve.ts');
    await serve(modules, givenFlags(command), version);
  });
}
