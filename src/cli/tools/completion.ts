import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

interface Word {
  readonly text: string;
  readonly about: string;
}

interface CommandWords extends Word {
  readonly options: readonly Word[];
}

/** A shell script that completes the commands, their options, and for `call` the procedures of a server. */
export function completionScript(program: Command, shell: Shell): string {
  const commands = commandsOf(program);
  const script = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell];
  return script(commands);
}

function commandsOf(program: Command): CommandWords[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((command) => ({
    text: command.name(),
    about: help.subcommandDescription(command),
    options: help.visibleOptions(command).flatMap(({ long, description }) => {
      const [about = ''] = description.split('\n', 1);
      return long == null ? [] : [{ text: long, about }];
    }),
  }));
}

function words(list: readonly Word[]): string {
  return list.map(({ text }) => text).join(' ');
}

function bashScript(commands: readonly CommandWords[]): string {
  const cases = commands.map(({ text, options }) => `    ${text}) options='${words(options)}' ;;`);
  // The script splits the line anew, since bash splits words at the colons of a URL. The script compares a server's
  // names itself, since compgen -W would run a $(command) in them.
  return `# tandem completion for bash: source <(tandem completion bash)
_tandem() {
  local words options='' current name
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ "\${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=('')
  local count=$(( \${#words[@]} - 1 ))
  current="\${words[count]}"
  COMPREPLY=()
  if (( count <= 1 )); then
    COMPREPLY=($(compgen -W '${words(commands)} --help --version' -- "$current"))
    return
  fi
  case "\${words[1]}" in
${cases.join('\n')}
  esac
  case "\${words[1]}" in
    completion) COMPREPLY=($(compgen -W '${shells.join(' ')}' -- "$current")); return ;;
    help) COMPREPLY=($(compgen -W '${words(commands)}' -- "$current")); return ;;
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ "\${words[1]}" == call ]] && (( count == 3 )); then
    while IFS= read -r name; do
      [[ "$name" == "$current"* && "$name" =~ ^[A-Za-z0-9_./-]+$ ]] && COMPREPLY+=("$name")
    done < <(tandem list --names --timeout 2s -- "\${words[2]}" 2>/dev/null)
  elif [[ "\${words[1]}" != call ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _tandem tandem
`;
}

/** The text for single quotes, without the characters that zsh gives a meaning. */
function plain(text: string): string {
  return text
    .replace(/['"`$\\[\]:]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

function zshScript(commands: readonly CommandWords[]): string {
  const list = commands.map(({ text, about }) => `    '${text}:${plain(about)}'`);
  const cases = commands.map(({ text, options }) => {
    const own = options.map((option) => `'${option.text}[${plain(option.about)}]'`);
    return `    ${text}) options=(${own.join(' ')}) ;;`;
  });
  return `#compdef tandem
# tandem completion for zsh: source <(tandem completion zsh)
_tandem() {
  local -a commands options names
  commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "\${words[2]}" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" != -* ]]; then
    # A case of its own: zsh takes the first pattern that fits, and above it is that of the options.
    case "\${words[2]}" in
      completion) _values shell ${shells.join(' ')}; return ;;
      help) _describe command commands; return ;;
    esac
  fi
  if [[ "\${words[2]}" == call && CURRENT -eq 4 && "\${words[CURRENT]}" != -* ]]; then
    names=(\${(f)"$(tandem list --names --timeout 2s -- "\${words[3]}" 2>/dev/null)"})
    compadd -a -- names
    return
  fi
  _arguments -s $options '*:file:_files'
}
compdef _tandem tandem
`;
}

function fishScript(commands: readonly CommandWords[]): string {
  const lines = commands.flatMap(({ text, about, options }) => [
    `complete -c tandem -n __fish_use_subcommand -f -a ${text} -d '${plain(about)}'`,
    ...options.map(
      (option) =>
        `complete -c tandem -n '__fish_seen_subcommand_from ${text}' -l ${option.text.slice(2)} -d '${plain(option.about)}'`,
    ),
  ]);
  return `# tandem completion for fish: tandem completion fish | source
function __tandem_names
  set -l words (commandline -opc)
  test (count $words) -eq 3; and tandem list --names --timeout 2s -- $words[3] 2>/dev/null
end
${lines.join('\n')}
complete -c tandem -n '__fish_seen_subcommand_from completion' -f -a '${shells.join(' ')}'
complete -c tandem -n '__fish_seen_subcommand_from help' -f -a '${words(commands)}'
complete -c tandem -n '__fish_seen_subcommand_from call' -f -a '(__tandem_names)'
`;
}
