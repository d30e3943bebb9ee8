#include "runtime/base/files/Mapping.h"
#include "runtime/base/options/Nearest.h"
#include "tools/dlc/Commands.h"

#include <sstream>

namespace dlc::tool {
namespace {

// The subcommand that was chosen, or the tool itself.
const CLI::App &active(const CLI::App &app) {
  auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen[0];
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

} // namespace

std::string explain(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = active(app);
  const std::string help =
      &command == &app ? "dlc --help"
                       : fmt::format("dlc {} --help", command.get_name());
  std::vector<std::string> rest = app.remaining(true);
  std::erase(rest, "--"); // what stands behind it are arguments
  std::string text;
  if (!rest.empty() && rest[0].starts_with("-")) {
    std::string flag = rest[0].substr(0, rest[0].find('='));
    text = fmt::format("unknown flag '{}'{}", flag,
                       suggestion(flag, flagsOf(command)));
  } else if (!rest.empty() && &command == &app) {
    text = fmt::format("unknown command '{}'{}", rest[0],
                       suggestion(rest[0], commandsOf(app)));
  } else if (!rest.empty()) {
    text = fmt::format("unexpected argument '{}'", rest[0]);
  } else if (&command == &app) {
    text =
        fmt::format("expected a command: {}", fmt::join(commandsOf(app), ", "));
  } else {
    text = error.what();
    if (!text.empty())
      text[0] = static_cast<char>(std::tolower(text[0]));
  }
  return fmt::format("{}; see {}", text, help);
}

int report(const Status &given) {
  // Whatever became of what was read: this is why.
  const Status torn = mappedFilesStatus();
  const Status &status = torn.ok() ? given : torn;
  if (!status.ok())
    logError(status.message());
  return static_cast<int>(status.code());
}

int report(const Result<int> &code) {
  return code ? *code : report(code.status());
}

int parseAndRun(CommandLine &line, int argc, char **argv) {
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success &request) { // --help, --version
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
