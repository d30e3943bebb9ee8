// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/options/Nearest.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/Tree.h"

#include <algorithm>
#include <sstream>

namespace dlc::tool {
namespace {

// The selected command, nested if it has subcommands; the tool itself if none
// is selected.
const CLI::App &active(const CLI::App &app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : active(*chosen[0]);
}

// "dlc data inspect".
std::string nameOf(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return parent ? nameOf(*parent) + " " + command.get_name() : "dlc";
}

// The first example of the command: ", as in: dlc report runs/lenet-1".
std::string exampleOf(const CLI::App &command) {
  const std::string footer = command.get_footer();
  const size_t begin = footer.find("\n  dlc ");
  if (begin == std::string::npos)
    return "";
  const std::string line = footer.substr(begin + 3);
  return ", as in: " + line.substr(0, line.find('\n'));
}

std::string upper(std::string text) {
  for (char &c : text)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Name, as in the help, of the first missing required option.
std::string missingOf(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_required() && option->count() == 0) {
      if (!option->get_positional())
        return option->get_name();
      const std::string type = option->get_type_name();
      return type.empty() || type == "TEXT" ? upper(option->get_name(true))
                                            : type;
    }
  return "";
}

std::vector<std::string> flagsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

std::vector<std::string> commandsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// Command lines of this program and of the compiler, which is run for it.
std::vector<Json> allTrees(const CLI::App &app) {
  std::vector<Json> trees = {treeOf(app)};
  const std::vector<std::string> here = commandsOf(app);
  const bool isCompiler = std::ranges::count(here, "train") == 0;
  if (auto other = treeOfProgram(isCompiler ? "dlc" : "dlc-compile"))
    trees.push_back(*std::move(other));
  return trees;
}

/// The first user-facing command that has the flag.
std::string commandWith(const std::vector<Json> &trees,
                        const std::string &flag) {
  for (const char *wanted : {"compile", "train", "eval", "predict", "export"})
    for (const Json &tree : trees)
      for (const Json &command : tree["commands"])
        for (const Json &option : command["options"])
          for (const Json &name : option["names"])
            if (command["name"] == wanted && name == flag)
              return fmt::format("dlc {}", wanted);
  return "";
}

/// The flag that was probably meant: one of this or another command, an alias
/// from other tools, or a similar name.
std::string flagMeant(const CLI::App &app, const std::string &flag) {
  const std::vector<std::string> own = flagsOf(active(app));
  std::vector<std::string> meant = oursFor(flag);
  meant.insert(meant.begin(), flag);
  std::vector<Json> trees;
  for (const std::string &name : meant) {
    const std::string first = name.substr(0, name.find_first_of(" ="));
    if (std::ranges::count(own, first) > 0)
      return fmt::format("; did you mean '{}'?", name);
    if (trees.empty())
      trees = allTrees(app);
    const std::string other = commandWith(trees, first);
    if (!other.empty())
      return name == flag ? fmt::format("; {} has it", other)
                          : fmt::format("; {} has '{}'", other, name);
  }
  return suggestion(flag, own);
}

/// Rewords CLI11's error about an option.
std::string optionError(const CLI::App &command, const CLI::ParseError &error) {
  const std::string text = error.what(), name = text.substr(0, text.find(':'));
  const CLI::Option *option = command.get_option_no_throw(name);
  if (!option)
    return text;
  const std::string type = option->get_type_name();
  const std::string value =
      option->results().empty() ? "" : option->results().back();
  if (error.get_name() == "ArgumentMismatch")
    return option->count() > 1
               ? fmt::format("{} is given {} times, expected once", name,
                             option->count())
               : fmt::format("{}: expected a value, as in {}={}", name, name,
                             type.substr(0, type.find(':')));
  if (error.get_name() != "ValidationError")
    return text;
  const size_t list = text.find(" not in {");
  if (list == text.npos)
    return fmt::format("{}: expected a whole number of at least 0, found '{}'",
                       name, value);
  const std::vector<std::string> choices =
      splitAtCommas(text.substr(list + 9, text.size() - list - 10));
  return fmt::format("{}: '{}' is not one of {}{}", name, value,
                     fmt::join(choices, ", "), suggestion(value, choices));
}

} // namespace

std::string explain(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = active(app);
  const std::string help = nameOf(command) + " --help";
  std::vector<std::string> rest = app.remaining(true);
  std::erase(rest, "--"); // only arguments follow
  std::string text;
  if (!rest.empty() && rest[0].starts_with("-")) {
    std::string flag = rest[0].substr(0, rest[0].find('='));
    text = fmt::format("unknown flag '{}'{}", flag, flagMeant(app, flag));
  } else if (const auto commands = commandsOf(command);
             !rest.empty() && !commands.empty()) {
    text = fmt::format("unknown command '{}'{}", rest[0],
                       suggestion(rest[0], commands));
  } else if (!rest.empty()) {
    text = fmt::format("unexpected argument '{}'", rest[0]);
  } else if (!commands.empty()) {
    text = fmt::format("expected a command: {}", fmt::join(commands, ", "));
  } else if (const std::string missing = missingOf(command);
             error.get_name() == "RequiredError" && !missing.empty()) {
    text = fmt::format("expected {}{}", missing, exampleOf(command));
  } else {
    text = optionError(command, error);
    if (!text.empty())
      text[0] = char(std::tolower(text[0]));
  }
  return fmt::format("{}; see {}", text, help);
}

int report(const Status &given) {
  // A torn mapped file explains any other error.
  const Status torn = mappedFilesStatus();
  const Status &status = torn.ok() ? given : torn;
  if (!status.ok())
    logError(status.message());
  return int(status.code());
}

int report(const Result<int> &code) {
  return code ? *code : report(code.status());
}

// Hides options that the command's short help omits.
static void shorten(const CommandLine &line, CLI::App &command) {
  const auto found = line.shortHelps.find(&command);
  if (found == line.shortHelps.end())
    return;
  const ShortHelp &help = found->second;
  size_t hidden = 0;
  for (CLI::Option *option : command.get_options()) {
    const std::string &text = option->get_description();
    option->description(text.substr(0, text.find('\n'))); // no arguments
    const auto isCalled = [&](const std::string &name) {
      return option->check_name(name);
    };
    if (option->get_positional() || option == command.get_help_ptr() ||
        option->get_group().empty() || // old spelling
        std::ranges::any_of(help.flags, isCalled))
      continue;
    option->group("");
    ++hidden;
  }
  command.footer(fmt::format(
      "{} --help=all shows {} more options.\n\n{}", nameOf(command), hidden,
      help.footer.empty() ? command.get_footer() : help.footer));
}

// "--run=" of an unset variable, for which CLI11 would take the next word; ""
// if there is none. Words after "--" are those of another program.
static std::string flagOfNothing(const std::vector<std::string> &words) {
  for (const std::string &word : words)
    if (word == "--")
      break;
    else if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return word;
  return "";
}

int parseAndRun(CommandLine &line) {
  if (line.arguments.size() == 2 && line.arguments[1] == "--tree")
    return printJson(treeOf(line.app)), 0;
  bool all = false;
  if (const auto flag = flagOfNothing(line.arguments); !flag.empty())
    return report(usageError("{}: expected a value, found nothing", flag));
  try {
    std::vector<const char *> words;
    for (const std::string &word : line.arguments) {
      const bool asksForAll = word == "--help=all";
      all |= asksForAll;
      words.push_back(asksForAll ? "--help" : word.c_str());
    }
    line.app.parse(int(words.size()), words.data());
  } catch (const CLI::Success &request) { // --help, --version
    if (!all)
      shorten(line, const_cast<CLI::App &>(active(line.app)));
    std::ostringstream text;
    const int code = line.app.exit(request, text, text);
    printText(text.str());
    return code;
  } catch (const CLI::ParseError &error) {
    return report(usageError("{}", explain(line.app, error)));
  }
  return line.chosen();
}

} // namespace dlc::tool
