import { defaultText, flagOf, groups, type Option, variablesOf } from './option.ts';
import { table } from './table.ts';

const rows: [name: string, option: Option<unknown>][] = Object.entries(table);

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('<', '&lt;');
}

function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

/** The flag as the help and the table show it: `--port <number>`; for a switch, the form that changes its default. */
export function flagText(name: string, option: Option<unknown>): string {
  const flag = flagOf(name, option);
  const { placeholder } = option.kind;
  if (placeholder !== undefined) return `--${flag} <${placeholder}>`;
  return 'value' in option.fallback && option.fallback.value === true
    ? `--no-${flag}`
    : `--${flag}`;
}

/** The flag in the table of docs/reference. A switch whose default depends on something shows both forms. */
function flagCell(name: string, option: Option<unknown>): string {
  const depends = option.kind.placeholder === undefined && 'from' in option.fallback;
  return code(depends ? `--[no-]${flagOf(name, option)}` : flagText(name, option));
}

function row([name, option]: [string, Option<unknown>]): string {
  const cells = [
    code(name),
    flagCell(name, option),
    variablesOf(name, option).map(code).join(' '),
    cell(defaultText(option)),
    cell(`${option.about}. Why: ${option.reason}.`),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The configuration table of docs/reference. */
export function configTable(): string {
  const sections = groups.map((group) =>
    [
      `**${group}**`,
      '',
      '| Option | Flag | Environment | Default | What it is |',
      '|---|---|---|---|---|',
      ...rows.filter(([, option]) => option.group === group).map(row),
    ].join('\n'),
  );
  return sections.join('\n\n');
}
