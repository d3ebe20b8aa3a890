import { Argument, type Command } from 'commander';
import { printAndExit } from '../ending.ts';
import { type Shell, shells } from './completion.ts';

const initExamples = `
Examples:
  tandem init my-service
  tandem init            # into this folder
`;

const completionExamples = `
Examples:
  source <(tandem completion bash)                  # in ~/.bashrc
  source <(tandem completion zsh)                   # in ~/.zshrc, after compinit
  tandem completion fish > ~/.config/fish/completions/tandem.fish
`;

/** `tandem init` and `tandem completion` */
export function addProjectCommands(program: Command, version: string): void {
  program
    .command('init')
    .summary('write a new project')
    .description(
      'Writes a project: procedures, a typed client, a test, scripts. Needs no network, and overwrites nothing.',
    )
    .argument('[dir]', 'the folder, made where it does not exist', '.')
    .addHelpText('after', initExamples)
    .action(async (folder: string) => {
      const { init } = await import('./init.ts');
      await init(folder, version);
    });
  program
    .command('completion')
    .summary('print a script for shell completion')
    .description('Prints a script that completes commands, options and the procedures of a server.')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', completionExamples)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts');
      await printAndExit(completionScript(program, shell));
    });
}
