// The registry: a target is its folder and a line here.
#include "compiler/target/cpu/Cpu.h"
#include "compiler/target/cuda/Cuda.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace dlc {
namespace {

struct Row {
  const char *name;
  std::shared_ptr<const Target> (*make)(const TargetOptions &);
};
constexpr Row kTargets[] = {
    {"cpu", makeCpuTarget},
    {"cuda", makeCudaTarget},
};

} // namespace

Words targetNames() {
  Words names;
  for (const Row &row : kTargets)
    names.push_back(row.name);
  return names;
}

std::shared_ptr<const Target> makeTarget(const TargetOptions &options) {
  return llvm::find_if(kTargets,
                       [&](auto &row) { return row.name == options.name; })
      ->make(options);
}

std::optional<By> parseBy(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<By>>(text)
      .Case("library", By::Library)
      .Case("generated", By::Generated)
      .Default(std::nullopt);
}

Words targetsThat(llvm::function_ref<bool(const Target &)> holds) {
  Words names;
  for (const Row &row : kTargets)
    if (holds(*row.make({})))
      names.push_back(row.name);
  return names;
}

llvm::StringRef textOf(By by) {
  return by == By::Library ? "library" : "generated";
}

void TargetOptions::addTo(OptionTable &table) {
  table.choice("model.target", name, targetNames(), "what the step runs on");
  addCpuOptions(table, *this);
  addCudaOptions(table, *this);
}

} // namespace dlc
