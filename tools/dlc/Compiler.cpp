// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/Commands.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace dlc::tool {

bool isCompilerCommand(const std::string &name) {
  return name == "compile" || name == "check" || name == "config" ||
         name == "export" || name == "diff" || name == "graph" ||
         name == "reduce";
}

std::string compilerPath() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "dlc-compile").string();
}

// A program of its own, so that training never loads the compiler.
Status runCompiler(char **arguments) {
  const std::string compiler = compilerPath();
  ::execv(compiler.c_str(), arguments);
  return failed("cannot run '{}': {}", compiler, std::strerror(errno));
}

} // namespace dlc::tool
