import { type Command, type Help, Option } from 'commander';
import { type FlagValues, type OptionName, optionNames } from '../core/config/config.ts';
import {
  type Option as ConfigOption,
  defaultText,
  flagOf,
  flagText,
  variableOf,
} from '../core/config/option.ts';
import { table } from '../core/config/table.ts';

function describe(name: string, option: ConfigOption<unknown>, negated: boolean): string {
  const { about, reason, fallback, kind } = option;
  const isSwitch = kind.placeholder === undefined;
  const depends = isSwitch && 'from' in fallback ? `; --no-${flagOf(name, option)}: do not` : '';
  const what = negated
    ? `Do not ${about.charAt(0).toLowerCase()}${about.slice(1)}`
    : about + depends;
  const standing =
    isSwitch && 'value' in fallback
      ? `${fallback.value === true ? 'on' : 'off'} by default`
      : `default: ${defaultText(option)}`;
  return `${what}\n[${standing}; env: ${variableOf(name, option)}]\nWhy: ${reason}`;
}

/** Of the options that have one line: `-H, --header <header>`. */
const widestTerm = 21;

/** Puts each option's text below the option: beside it, three facts and a long flag leave too little room. */
export function formatItem(term: string, termWidth: number, text: string, help: Help): string {
  if (!text.includes('\n')) return `  ${term.padEnd(Math.min(termWidth, widestTerm))}  ${text}`;
  const wrapped = help.boxWrap(text, (help.helpWidth ?? 80) - 6);
  return `  ${help.styleOptionTerm(term)}\n${wrapped.replace(/^/gm, '      ')}`;
}

function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
}

function toFlags(name: string, option: ConfigOption<unknown>): Option[] {
  const shown = new Option(flagText(name, option));
  shown.description = describe(name, option, shown.negate);
  shown.helpGroup(`${option.group}:`);
  if (option.kind.placeholder !== undefined) {
    const value = option.kind.repeatable === true ? shown.argParser(collect) : shown;
    if (option.kind.hasNo !== true) return [value];
    return [value, new Option(`--no-${flagOf(name, option)}`).hideHelp()];
  }
  // A switch has both forms, --x and --no-x. The help shows the form that changes the default.
  const flag = flagOf(name, option);
  const other = new Option(shown.negate ? `--${flag}` : `--no-${flag}`).hideHelp();
  // A --no-x that is added without its --x before it gets the default true from Commander.
  return shown.negate ? [other, shown] : [shown, other];
}

/** Adds options of the config table to `command`: all of them, or those that are named. */
export function addConfigOptions(
  command: Command,
  names: readonly OptionName[] = optionNames,
): Command {
  for (const name of names) {
    for (const flag of toFlags(name, table[name] as ConfigOption<unknown>)) command.addOption(flag);
  }
  return command;
}

/** What the user gave `command`, by option name. */
export function givenFlags(command: Command): FlagValues {
  const values: Record<string, string | boolean | readonly string[] | undefined> = {};
  for (const name of optionNames) {
    const flag = flagOf(name, table[name] as ConfigOption<unknown>);
    const attribute = new Option(`--${flag}`).attributeName();
    // Commander's type of a value is not known here. The forms above give text and booleans only.
    if (command.getOptionValueSource(attribute) === 'cli') {
      values[name] = command.getOptionValue(attribute) as string | boolean | string[];
    }
  }
  return values;
}
