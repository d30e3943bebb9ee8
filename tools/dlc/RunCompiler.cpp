// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/Commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace dlc::tool {

bool isCompilerCommand(const std::vector<std::string> &arguments) {
  const auto isAt = [&](size_t i, std::initializer_list<const char *> names) {
    return i < arguments.size() && std::ranges::count(names, arguments[i]) > 0;
  };
  return isAt(1, {"compile", "check", "config", "export", "graph"}) ||
         (isAt(1, {"debug"}) && isAt(2, {"diff", "reduce"}));
}

std::string compilerPath() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "dlc-compile").string();
}

Status execute(const std::string &program,
               const std::vector<std::string> &arguments) {
  std::vector<char *> words;
  for (const std::string &word : arguments)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return failed("cannot run '{}': {}", program, std::strerror(errno));
}

// A separate program, so that training never loads the compiler.
Status runCompiler(const std::vector<std::string> &arguments) {
  return execute(compilerPath(), arguments);
}

} // namespace dlc::tool
