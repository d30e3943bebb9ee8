// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/dlc/compile.h"

#include "runtime/api/Handles.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Subprocess.h"

using namespace dlc;

namespace {

constexpr const char *kProgram = "dlc-compile";

Result<std::string> findCompiler() {
  if (auto path = environment::compiler())
    return *std::move(path);
  if (std::string path = findProgram(kProgram); !path.empty())
    return path;
  return failed("no {} beside libdlc.so or in PATH: install dlc's compiler, or "
                "set DLC_COMPILER to its path",
                kProgram);
}

Result<std::string> wordOf(const dlc_option &option) {
  const std::string name = api::text(option.name);
  if (name.empty() || name[0] == '-' ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
          name.npos)
    return usageError(
        "'{}' is not an option: expected a flag's name without dashes", name);
  return "--" + name + (option.value ? "=" + std::string(option.value) : "");
}

// Makes a path that cannot be taken for a flag.
std::string pathWord(const std::string &path) {
  return path.starts_with('-') ? "./" + path : path;
}

Status runCompiler(const char *command, const char *from, const char *to,
                   std::span<const dlc_option> options) {
  DLC_ASSIGN(std::string program, findCompiler());
  std::vector<std::string> words = {std::move(program), command, pathWord(from),
                                    "--output=" + std::string(to)};
  for (const dlc_option &option : options) {
    DLC_ASSIGN(words.emplace_back(), wordOf(option));
  }
  DLC_ASSIGN(const OwnProgramEnd end, runOwnProgram(words));
  if (end.code == 0)
    return {};
  if (end.code > int(Code::Diverged))
    return failed("'{}' ended with code {}{}{}", words[0], end.code,
                  end.error.empty() ? "" : ": ", end.error);
  return {static_cast<Code>(end.code),
          end.error.empty()
              ? fmt::format("'{}' ended with code {}, without a message",
                            words[0], end.code)
              : end.error};
}

dlc_code convert(const char *command, const char *from, const char *to,
                 const dlc_option *options, size_t count) {
  return api::call("converting a model",
                   {{from, "the model's path"},
                    {to, "the result's path"},
                    {options, count, "the list of options"}},
                   [&] {
                     return runCompiler(command, from, to, {options, count});
                   });
}

} // namespace

dlc_code dlc_compile(const char *model, const char *artifact,
                     const dlc_option *options, size_t count) {
  return convert("compile", model, artifact, options, count);
}

dlc_code dlc_export(const char *model, const char *file,
                    const dlc_option *options, size_t count) {
  return convert("export", model, file, options, count);
}
