// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/Tree.h"

#include "runtime/base/Text.h"
#include "tools/dlc/OptionFlags.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace dlc::tool {
namespace {

// The choices a and b of "{a,b}", "[{a,b}]" and "TEXT:{a,b}"; none if other
// values are accepted, as in "{a,b}|NAME".
Json choicesOf(const std::string &word) {
  Json choices = Json::array();
  const size_t begin = word.find('{'), end = word.find('}');
  const bool ends = end != word.npos &&
                    (end + 1 == word.size() || word.substr(end + 1) == "]");
  const bool begins =
      begin == 0 || (begin != word.npos &&
                     (word[begin - 1] == ':' || word.starts_with("[{")));
  if (!ends || !begins)
    return choices;
  return splitAtCommas(word.substr(begin + 1, end - begin - 1));
}

Json describe(const CLI::Option &option) {
  Json names = Json::array();
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  std::string type = option.get_type_name();
  const bool hasArguments = type.ends_with(kArgumentsType);
  if (hasArguments)
    type.resize(type.size() - std::strlen(kArgumentsType));
  const bool optional = type.starts_with("[");
  const bool takes = optional || (option.get_expected_max() > 0 &&
                                  option.get_type_size_max() > 0);
  const std::string word = takes ? type : "";
  return {{"names", names},
          {"word", word},
          {"optional", optional},
          {"arguments", hasArguments},
          {"repeats",
           option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll},
          {"choices", choicesOf(word)},
          {"default", option.get_default_str()},
          {"group", option.get_group()},
          {"help", option.get_description()}};
}

// Replaces commands of `tree` by the compiler's descriptions of them.
void takeCompilers(Json &tree, const Json &compiler) {
  for (Json &command : tree["commands"])
    for (const Json &known : compiler["commands"])
      if (known["name"] == command["name"]) {
        if (command["commands"].empty())
          command = known;
        else
          takeCompilers(command, known);
      }
}

} // namespace

Json treeOf(const CLI::App &app) {
  Json options = Json::array(), arguments = Json::array(),
       commands = Json::array();
  for (const CLI::Option *option : app.get_options()) {
    if (option->nonpositional())
      options.push_back(describe(*option));
    else
      arguments.push_back({{"name", option->get_name(true)},
                           {"required", option->get_required()},
                           {"many", option->get_expected_max() > 1},
                           {"help", option->get_description()}});
  }
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    commands.push_back(treeOf(*command));
  return {{"name", app.get_name()},     {"help", app.get_description()},
          {"footer", app.get_footer()}, {"options", options},
          {"arguments", arguments},     {"commands", commands}};
}

Result<Json> treeOfProgram(const std::string &name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string command =
      shellQuoted((self.parent_path() / name).string()) + " --tree 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE *)> pipe(::popen(command.c_str(), "r"),
                                              ::pclose);
  std::string text;
  std::array<char, 65536> room;
  while (pipe)
    if (const size_t n = std::fread(room.data(), 1, room.size(), pipe.get()))
      text.append(room.data(), n);
    else
      break;
  if (!pipe || ::pclose(pipe.release()) != 0)
    return failed("cannot run {}", command);
  return parseJson(text);
}

Result<Json> wholeTree(const CLI::App &app) {
  DLC_ASSIGN(const Json compiler, treeOfProgram("dlc-compile"));
  Json tree = treeOf(app);
  takeCompilers(tree, compiler);
  return tree;
}

} // namespace dlc::tool
