// SPDX-License-Identifier: Apache-2.0
// dlc man, generated from the command line's description.
#include "tools/dlc/Tree.h"

#include <algorithm>
#include <map>

namespace dlc::tool {
namespace {

// Escapes a text for roff: no escapes or requests, copyable hyphens.
std::string roff(const std::string &text) {
  std::string out;
  bool atStart = true;
  for (const char c : text) {
    if (atStart && (c == '.' || c == '\''))
      out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    atStart = c == '\n';
  }
  return out;
}

std::string textOf(const Json &json, const char *key) {
  return json[key].get<std::string>();
}

std::string head(const std::string &name, const std::string &help) {
  std::string upper = name;
  for (char &c : upper)
    c = char(std::toupper(c));
  return fmt::format(".TH {} 1 \"\" \"dlc {}\"\n.SH NAME\n{} \\- {}\n", upper,
                     dlcVersion(), roff(name), roff(help));
}

std::string optionsOf(const Json &command) {
  std::map<std::string, std::string> groups;
  std::vector<std::string> order;
  for (const Json &option : command["options"]) {
    const std::string group = textOf(option, "group");
    if (!groups.count(group))
      order.push_back(group);
    std::string names;
    for (const Json &name : option["names"])
      names += (names.empty() ? "\\fB" : ", \\fB") +
               roff(name.get<std::string>()) + "\\fR";
    const std::string word = textOf(option, "word"),
                      value = textOf(option, "default");
    groups[group] +=
        ".TP\n" + names + (word.empty() ? "" : " \\fI" + roff(word) + "\\fR") +
        "\n" + roff(textOf(option, "help")) +
        (value.empty() ? "" : roff(" (default: " + value + ")")) + "\n";
  }
  std::string text;
  for (const std::string &group : order)
    text += (group == "Options" ? ".SH OPTIONS\n"
                                : ".SS \"" + roff(group) + "\"\n") +
            groups[group];
  return text;
}

std::string footerOf(const Json &command) {
  const std::string footer = textOf(command, "footer");
  return footer.empty() ? "" : ".SH NOTES\n.nf\n" + roff(footer) + "\n.fi\n";
}

std::string dashed(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

std::string commandsOf(const Json &command) {
  std::string text;
  for (const Json &part : command["commands"])
    text += ".TP\n\\fB" + roff(textOf(part, "name")) + "\\fR\n" +
            roff(textOf(part, "help")) + "\n";
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

// The page of a command by its path, such as "debug replay".
std::string pageOf(const Json &command, const std::string &path) {
  std::string page = head("dlc-" + dashed(path), textOf(command, "help"));
  page += ".SH SYNOPSIS\n\\fBdlc " + roff(path) + "\\fR [\\fIOPTIONS\\fR]";
  for (const Json &argument : command["arguments"]) {
    const std::string text = "\\fI" + roff(textOf(argument, "name")) + "\\fR" +
                             (argument["many"].get<bool>() ? "..." : "");
    page += argument["required"].get<bool>() ? " " + text : " [" + text + "]";
  }
  if (!command["commands"].empty())
    page += " \\fICOMMAND\\fR";
  page += "\n";
  if (!command["arguments"].empty())
    page += ".SH ARGUMENTS\n";
  for (const Json &argument : command["arguments"])
    page += ".TP\n\\fI" + roff(textOf(argument, "name")) + "\\fR\n" +
            roff(textOf(argument, "help")) + "\n";
  return page + commandsOf(command) + optionsOf(command) + footerOf(command) +
         ".SH SEE ALSO\n.BR dlc (1)\n";
}

using Pages = std::vector<std::pair<std::string, std::string>>;
void addPages(const Json &tree, const std::string &above, Pages &pages) {
  for (const Json &command : tree["commands"]) {
    const std::string path = above + textOf(command, "name");
    pages.emplace_back("dlc-" + dashed(path) + ".1", pageOf(command, path));
    addPages(command, path + " ", pages);
  }
}

// The pages by name, such as "dlc-train.1".
Pages pagesOf(const Json &tree) {
  Pages pages;
  addPages(tree, "", pages);
  std::string also;
  for (const auto &[name, text] : pages)
    also += (also.empty() ? ".BR " : ",\n.BR ") +
            roff(name.substr(0, name.size() - 2)) + " (1)";
  pages.emplace_back("dlc.1", head("dlc", textOf(tree, "help")) +
                                  ".SH SYNOPSIS\n\\fBdlc\\fR \\fICOMMAND\\fR "
                                  "[\\fIOPTIONS\\fR]\n" +
                                  commandsOf(tree) + optionsOf(tree) +
                                  footerOf(tree) + ".SH SEE ALSO\n" + also +
                                  "\n");
  return pages;
}

Status writeManual(const CLI::App &app, const std::string &folder) {
  DLC_ASSIGN(const Json tree, wholeTree(app));
  for (const auto &[name, text] : pagesOf(tree))
    DLC_TRY(writeFileAtomically(folder + "/" + name, text));
  return {};
}

} // namespace

void addManual(CommandLine &line) {
  auto folder = std::make_shared<std::string>();
  CLI::App *command =
      line.app.add_subcommand("man", "write the manual as man pages");
  command->add_option("folder", *folder, "existing folder of the pages")
      ->required();
  command->footer("Example:\n  dlc man /tmp && man /tmp/dlc-train.1");
  runIfChosen(line, *command,
              [&line, folder] { return writeManual(line.app, *folder); });
}

} // namespace dlc::tool
