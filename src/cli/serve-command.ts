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
`;

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
