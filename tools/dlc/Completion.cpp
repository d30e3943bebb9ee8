// SPDX-License-Identifier: Apache-2.0
// dlc completion, generated from the command line's description.
#include "runtime/base/Text.h"
#include "tools/dlc/Tree.h"

namespace dlc::tool {
namespace {

std::string listOf(const Json &words) {
  return joined(words, " ",
                [](const Json &word) { return word.get<std::string>(); });
}

std::string longNameOf(const Json &option) {
  return option["names"].back().get<std::string>();
}

// Quotes a text with apostrophes, for any shell.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != text.npos; at += 4)
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string namesOf(const Json &list) {
  return joined(list, " ", [](const Json &item) {
    return item["name"].get<std::string>();
  });
}

// All commands by path ("debug", "debug replay"), parents before children.
using CommandPaths = std::vector<std::pair<std::string, const Json *>>;
void addPaths(const Json &tree, const std::string &above, CommandPaths &paths) {
  for (const Json &command : tree["commands"]) {
    const std::string path = above + command["name"].get<std::string>();
    paths.emplace_back(path, &command);
    addPaths(command, path + " ", paths);
  }
}
CommandPaths pathsOf(const Json &tree) {
  CommandPaths paths;
  addPaths(tree, "", paths);
  return paths;
}

// Paths of nested commands as a non-empty pattern of a shell's `case`.
std::string nestedPattern(const CommandPaths &paths) {
  std::string pattern = "''";
  for (const auto &[path, command] : paths)
    if (path.find(' ') != path.npos)
      pattern += "|" + quoted(path);
  return pattern;
}

std::string bash(const Json &tree) {
  const CommandPaths paths = pathsOf(tree);
  std::string flags, words;
  for (const auto &[path, command] : paths) {
    std::string all;
    for (const Json &option : (*command)["options"]) {
      all += " " + listOf(option["names"]);
      if (!option["choices"].empty())
        words += fmt::format(
            "    '{0} {1}='{2}) list='{3}' ;;\n", path, longNameOf(option),
            option["optional"] ? ""
                               : "|'" + path + " " + longNameOf(option) + "'",
            listOf(option["choices"]));
    }
    flags += fmt::format("    '{}') list='{}{}' ;;\n", path,
                         namesOf((*command)["commands"]), all);
  }
  return fmt::format(R"(# bash completion of dlc; made by: dlc completion bash
_dlc() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} flag= list=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  # "--flag=word" comes as three.
  if [[ $word == = ]]; then
    flag=$before= word=
  elif [[ $before == = ]]; then
    flag=${{COMP_WORDS[COMP_CWORD - 2]}}=
  elif [[ $before == -* ]]; then
    flag=$before
  fi
  local command=${{COMP_WORDS[1]}} next=2
  while ((next < COMP_CWORD)); do
    case "$command ${{COMP_WORDS[next]}}" in
      {}) command+=" ${{COMP_WORDS[next]}}" ;;
      *) break ;;
    esac
    ((++next))
  done
  case "$command $flag" in
{}    *)
      [[ $word == -* || $COMP_CWORD == "$next" ]] && case $command in
{}      esac ;;
  esac
  [[ -n $list ]] && COMPREPLY=($(compgen -W "$list" -- "$word"))
}}
complete -o default -F _dlc dlc
)",
                     namesOf(tree["commands"]), nestedPattern(paths), words,
                     flags);
}

std::string zshOptions(const Json &command) {
  const auto escaped = [](std::string text) {
    for (const char c : {':', '[', ']'})
      for (size_t at = 0; (at = text.find(c, at)) != text.npos; at += 2)
        text.insert(at, "\\");
    return text;
  };
  std::string text;
  for (const Json &option : command["options"])
    for (const Json &flag : option["names"]) {
      const bool takes = !option["word"].get<std::string>().empty();
      std::string spec = flag.get<std::string>();
      const bool optional = option["optional"];
      spec += takes ? spec.starts_with("--") ? "=" : "+" : "";
      spec += (optional ? "-[" : "[") +
              escaped(option["help"].get<std::string>()) + "]";
      if (takes)
        spec +=
            (optional ? "::word:" : ":word:") +
            (option["choices"].empty() ? "_files"
                                       : "(" + listOf(option["choices"]) + ")");
      text += " \\\n      " + quoted("*" + spec);
    }
  return text;
}

std::string zshNames(const Json &list) {
  std::string text;
  for (const Json &command : list)
    text += "  " +
            quoted(command["name"].get<std::string>() + ":" +
                   command["help"].get<std::string>()) +
            "\n";
  return text;
}

std::string zsh(const Json &tree) {
  const CommandPaths paths = pathsOf(tree);
  std::string cases;
  for (const auto &[path, command] : paths) {
    const Json &below = (*command)["commands"];
    cases += "  " + quoted(path) + ")\n";
    if (!below.empty())
      cases += "    commands=(\n" + zshNames(below) +
               "    )\n    ((CURRENT == 2)) && _describe command commands\n";
    cases += "    _arguments" + zshOptions(*command) +
             " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef dlc
# zsh completion of dlc; made by: dlc completion zsh
local -a commands=(
{})
if ((CURRENT == 2)); then
  _describe command commands
  return
fi
local command=$words[2]
shift words
((CURRENT--))
while ((CURRENT > 2)); do
  case "$command $words[2]" in
    {}) command+=" $words[2]" ;;
    *) break ;;
  esac
  shift words
  ((CURRENT--))
done
case $command in
{}esac
)",
                     zshNames(tree["commands"]), nestedPattern(paths), cases);
}

// Whether the words before the cursor select a command.
std::string fishCondition(const std::string &path) {
  return path.empty()
             ? "__fish_use_subcommand"
             : joined(splitAt(path, ' '), "; and ", [](auto word) {
                 return fmt::format("__fish_seen_subcommand_from {}", word);
               });
}

std::string fish(const Json &tree) {
  std::string text = "# fish completion of dlc; made by: dlc completion fish\n";
  for (const auto &[path, command] : pathsOf(tree)) {
    const size_t last = path.rfind(' ');
    const std::string above = last == path.npos ? "" : path.substr(0, last);
    text += fmt::format("complete -c dlc -n {} -a {} -d {}\n",
                        quoted(fishCondition(above)),
                        (*command)["name"].get<std::string>(),
                        quoted((*command)["help"].get<std::string>()));
    for (const Json &option : (*command)["options"]) {
      text += "complete -c dlc -n " + quoted(fishCondition(path));
      for (const Json &flag : option["names"]) {
        const auto word = flag.get<std::string>();
        text += word.starts_with("--") ? " -l " + word.substr(2)
                                       : " -s " + word.substr(1);
      }
      if (!option["choices"].empty())
        text += (option["optional"] ? " -f -a '" : " -x -a '") +
                listOf(option["choices"]) + "'";
      else if (!option["optional"] &&
               !option["word"].get<std::string>().empty())
        text += " -r";
      text += " -d " + quoted(option["help"].get<std::string>()) + "\n";
    }
  }
  return text;
}

Status complete(const CLI::App &app, const std::string &shell) {
  DLC_ASSIGN(const Json tree, wholeTree(app));
  printText(shell == "bash"  ? bash(tree)
            : shell == "zsh" ? zsh(tree)
                             : fish(tree));
  return {};
}

} // namespace

void addCompletion(CommandLine &line) {
  auto shell = std::make_shared<std::string>();
  CLI::App *command = line.app.add_subcommand(
      "completion", "print a script that completes dlc's commands in a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  dlc completion bash > "
      "~/.local/share/bash-completion/completions/dlc\n"
      "  dlc completion fish > ~/.config/fish/completions/dlc.fish");
  runIfChosen(line, *command,
              [&line, shell] { return complete(line.app, *shell); });
}

} // namespace dlc::tool
