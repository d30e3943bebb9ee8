// SPDX-License-Identifier: Apache-2.0
// A program's state from files.
#include "runtime/base/files/MappedFile.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/StateFiles.h"
#include "runtime/train/session/State.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

Status loadOwn(Executor &executor, const plan::State &state,
               const NamedTensor &tensor) {
  const auto ranks =
      tensor.shape.empty() ? 0 : static_cast<int>(tensor.shape[0]);
  if (tensor.dtype != *plan::dtypeOf(state.type().dtype()) || ranks < 1 ||
      tensor.shape != StateParts::shapeOfRanks(state, ranks))
    return incompatible("tensor '{}' is {} [{}], expected {} [ranks, {}]",
                        state.name(), nameOf(tensor.dtype),
                        fmt::join(tensor.shape, ", "),
                        nameOf(*plan::dtypeOf(state.type().dtype())),
                        fmt::join(plan::shapeOf(state.type()), ", "));
  DLC_ASSIGN(StateParts *const parts, executor.parts());
  return parts->writeOfRanks(state, tensor.data, ranks);
}

Status loadTensor(Executor &executor, const plan::State &state,
                  const plan::StateFiles &file, bool mayOmitMoments) {
  std::vector<std::byte> copy;
  const auto tensor = file.find(state.name(), copy);
  const bool mayOmit =
      state.role() == "accumulator" ||
      ((state.role() == "moment" || StateParts::isOwn(state)) &&
       mayOmitMoments);
  if (!tensor && mayOmit) {
    std::vector<std::byte> zeros(*plan::bytesOf(state.type()));
    return executor.writeState(state.name(), zeros.data(), zeros.size());
  }
  if (!tensor)
    return incompatible("there is no tensor '{}'", state.name());
  if (StateParts::isOwn(state))
    return loadOwn(executor, state, *tensor);
  if (tensor->dtype != *plan::dtypeOf(state.type().dtype()) ||
      tensor->shape != plan::shapeOf(state.type()))
    return incompatible("tensor '{}' is {} [{}], expected {} [{}]",
                        state.name(), nameOf(tensor->dtype),
                        fmt::join(tensor->shape, ", "),
                        nameOf(*plan::dtypeOf(state.type().dtype())),
                        fmt::join(plan::shapeOf(state.type()), ", "));
  return executor.writeState(state.name(), tensor->data, tensor->bytes);
}

Status checkNoOthers(const plan::Plan &plan, const plan::StateFiles &file) {
  std::vector<std::string> names;
  for (const plan::State &state : plan.states())
    names.push_back(state.name());
  std::sort(names.begin(), names.end());
  for (const std::string &name : file.names())
    if (!std::binary_search(names.begin(), names.end(), name))
      return incompatible("tensor '{}' is not a state of the program", name);
  return {};
}

} // namespace

Status loadState(Executor &executor, const std::string &path,
                 bool mayOmitMoments) {
  DLC_ASSIGN(const plan::StateFiles file, plan::StateFiles::open(path));
  auto load = [&]() -> Status {
    for (const plan::State &state : executor.plan().states())
      DLC_TRY(loadTensor(executor, state, file, mayOmitMoments));
    DLC_TRY(mappedFilesStatus());
    return checkNoOthers(executor.plan(), file);
  };
  return load().withContext(fmt::format("'{}'", path));
}

} // namespace dlc
