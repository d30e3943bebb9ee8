// SPDX-License-Identifier: Apache-2.0
// The registry of targets: each has a folder and a line here.
#include "compiler/target/cpu/Cpu.h"
#include "compiler/target/cuda/Cuda.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace dlc {
namespace {

std::vector<TargetType> &types() {
  static std::vector<TargetType> all = {
      {"cpu", makeCpuTarget, addCpuOptions},
      {"cuda", makeCudaTarget, addCudaOptions, fitCudaOptions},
  };
  return all;
}

} // namespace

void registerTarget(const TargetType &type) {
  assert(!llvm::is_contained(targetNames(), type.name));
  types().push_back(type);
}

Words targetNames() {
  Words names;
  for (const TargetType &type : types())
    names.push_back(type.name);
  return names;
}

static const TargetType &typeOf(const TargetOptions &options) {
  return *llvm::find_if(types(),
                        [&](auto &type) { return type.name == options.name; });
}

std::shared_ptr<const Target> makeTarget(const TargetOptions &options) {
  return typeOf(options).make(options);
}

Status fitTarget(TargetOptions &options, const Words &architectures) {
  const TargetType &type = typeOf(options);
  return type.fit
             ? type.fit(options, architectures)
             : incompatible("no devices of '{}' are looked for", options.name);
}

Words targetsThat(llvm::function_ref<bool(const Target &)> holds) {
  Words names;
  for (const TargetType &type : types())
    if (holds(*type.make({})))
      names.push_back(type.name);
  return names;
}

void TargetOptions::addTo(OptionTable &table) {
  table.choice("model.target", name, targetNames(), "what the step runs on");
  for (const TargetType &type : types())
    if (type.addOptions)
      type.addOptions(table, *this);
}

} // namespace dlc
