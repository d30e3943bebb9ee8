#include "tools/dlc/Commands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace dlc::tool {
namespace {

// Edits (insert, delete, replace, swap of neighbours) from a to b.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  std::iota(d[0].begin(), d[0].end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    d[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string withSuggestion(std::string text, const std::string &word,
                           const std::vector<std::string> &candidates) {
  std::string guess = nearest(word, candidates);
  return guess.empty() ? text
                       : text + fmt::format("; did you mean '{}'?", guess);
}

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

std::string nearest(const std::string &word,
                    const std::vector<std::string> &candidates) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates)
    if (size_t d = distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  return best;
}

CLI::Validator finiteNumber() {
  auto check = [](const std::string &word) -> std::string {
    double value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() &&
        std::isfinite(value))
      return "";
    return fmt::format("expected a number, found '{}'", word);
  };
  return CLI::Validator(check, "");
}

std::string explain(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = active(app);
  const std::string help =
      &command == &app ? "dlc --help"
                       : fmt::format("dlc {} --help", command.get_name());
  std::vector<std::string> rest = app.remaining(true);
  std::string text;
  if (!rest.empty() && rest[0].starts_with("-")) {
    std::string flag = rest[0].substr(0, rest[0].find('='));
    text = withSuggestion(fmt::format("unknown flag '{}'", flag), flag,
                          flagsOf(command));
  } else if (!rest.empty() && &command == &app) {
    text = withSuggestion(fmt::format("unknown command '{}'", rest[0]), rest[0],
                          commandsOf(app));
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

} // namespace dlc::tool
