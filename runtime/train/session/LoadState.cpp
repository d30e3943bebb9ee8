// SPDX-License-Identifier: Apache-2.0
// Loads a program's state from files: its own, or matching states of another
// program.
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/data/Npy.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/StateFiles.h"
#include "runtime/train/session/State.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

Status loadOwn(Executor &executor, const plan::State &state,
               const NamedTensor &tensor) {
  const auto ranks = tensor.shape.empty() ? 0 : int(tensor.shape[0]);
  if (tensor.dtype != *plan::dtypeOf(state.type().dtype()) || ranks < 1 ||
      tensor.shape != StateParts::shapeOfRanks(state, ranks))
    return incompatible("tensor '{}' is {}, expected {} [ranks, {}]",
                        state.name(), describe(tensor.dtype, tensor.shape),
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
    return incompatible("tensor '{}' is {}, expected {}", state.name(),
                        describe(tensor->dtype, tensor->shape),
                        describe(*plan::dtypeOf(state.type().dtype()),
                                 plan::shapeOf(state.type())));
  return executor.writeState(state.name(), tensor->data, tensor->bytes);
}

Status checkNoOthers(const plan::Plan &plan, const plan::StateFiles &file) {
  std::vector<std::string> names;
  for (const plan::State &state : plan.states())
    names.push_back(state.name());
  std::ranges::sort(names);
  for (const std::string &name : file.names())
    if (!std::ranges::binary_search(names, name))
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
  return load().withContext("'{}'", path);
}

namespace {

// Removes settings from a list of REGEX:NAME,KEY=VALUE...
std::string withoutSettings(const std::string &groups) try {
  std::string text;
  for (const YAML::Node &node : YAML::Load(groups)) {
    const auto group = node.as<std::string>();
    const size_t colon = std::min(group.rfind(':'), group.size());
    text += " " + group.substr(0, group.find_first_of(",(", colon));
  }
  return text;
} catch (const YAML::Exception &) {
  return groups;
}

// Optimizers of a plan: "adamw bias$:sgd".
std::string optimizersOf(const plan::Plan &plan) {
  std::string text;
  for (const plan::Attribute &attribute : plan.schedule())
    if (attribute.name() == "optimizer")
      text = attribute.s() + text;
    else if (attribute.name() == "optimizer-group")
      text += withoutSettings(attribute.s());
  return text;
}

// Whether the compilation or the run's length determines the state.
bool isOfProgram(const std::string &name, const std::string &role) {
  return role == "accumulator" || name == "accumulate.position" ||
         name.starts_with("schedule.");
}

class StateTaker {
public:
  StateTaker(Executor &executor, const Model &from,
             const plan::StateFiles &file)
      : executor_(executor), from_(from), file_(file) {
    done_.before = optimizersOf(from.artifact.plan());
    done_.now = optimizersOf(executor.plan());
  }

  Result<Takeover> run() {
    for (const plan::State &state : executor_.plan().states())
      if (!isOfProgram(state.name(), state.role()) &&
          !isOfOptimizer(state.name(), state.role()))
        DLC_TRY(take(state));
    DLC_TRY(mappedFilesStatus());
    for (const plan::State *average : averages_)
      DLC_TRY(startAverage(*average));
    findUnused();
    if (parameters_ == 0)
      return incompatible("it has none of the artifact's parameters");
    return std::move(done_);
  }

private:
  // Whether a different optimizer resets the state.
  bool isOfOptimizer(const std::string &name, const std::string &role) const {
    return done_.startsOptimizer() && (role == "moment" || name == "step" ||
                                       name.starts_with("step.product"));
  }

  Status take(const plan::State &state) {
    std::vector<std::byte> copy;
    const auto tensor = file_.find(state.name(), copy);
    if (!tensor) {
      if (state.of().size() &&
          (state.role() == "ema" || state.name().ends_with(".sync_anchor")))
        averages_.push_back(&state);
      else
        done_.missing.push_back(state.name());
      return {};
    }
    const DType type = *plan::dtypeOf(state.type().dtype());
    const bool isOwn = StateParts::isOwn(state);
    const bool isFloating = isFloat(type) && isFloat(tensor->dtype);
    const auto expected =
        isOwn && !tensor->shape.empty()
            ? StateParts::shapeOfRanks(state, int(tensor->shape[0]))
            : plan::shapeOf(state.type());
    if (tensor->shape != expected ||
        (tensor->dtype != type && (isOwn || !isFloating))) {
      done_.unlike.push_back(fmt::format(
          "'{}' ({}, found {})", state.name(), describe(type, expected),
          describe(tensor->dtype, tensor->shape)));
      return {};
    }
    ++done_.taken;
    parameters_ += state.role() == "param" && state.trainable();
    if (isOwn)
      return loadOwn(executor_, state, *tensor);
    if (tensor->dtype == type)
      return executor_.writeState(state.name(), tensor->data, tensor->bytes);
    done_.rounded.push_back(state.name());
    return writeCast(state.name(), tensor->data,
                     tensor->bytes / sizeOf(tensor->dtype), tensor->dtype,
                     type);
  }

  Status writeCast(const std::string &name, const std::byte *data,
                   uint64_t count, DType from, DType to) {
    const auto bytes = castFloats(data, count, from, to);
    return executor_.writeState(name, bytes.data(), bytes.size());
  }

  // Starts as in a new run: with the values that it averages.
  Status startAverage(const plan::State &average) {
    const auto &states = executor_.plan().states();
    const auto of = std::ranges::find(states, average.of(), &plan::State::name);
    std::vector<std::byte> copy;
    DLC_ASSIGN(const TensorView view, executor_.fetchState(of->name(), copy));
    const DType from = *plan::dtypeOf(of->type().dtype());
    return writeCast(average.name(), view.data, view.bytes / sizeOf(from), from,
                     *plan::dtypeOf(average.type().dtype()));
  }

  void findUnused() {
    std::map<std::string, std::string> roles;
    for (const plan::State &state : from_.artifact.plan().states())
      roles[state.name()] = state.role();
    for (const std::string &name : file_.names())
      if (!executor_.hasState(name) && !isOfProgram(name, roles[name]) &&
          !isOfOptimizer(name, roles[name]))
        done_.unused.push_back(name);
  }

  Executor &executor_;
  const Model &from_;
  const plan::StateFiles &file_;
  std::vector<const plan::State *> averages_; // missing in the file
  size_t parameters_ = 0;
  Takeover done_;
};

} // namespace

Result<Takeover> takeOver(Executor &executor, const Model &from) {
  DLC_ASSIGN(const auto file, plan::StateFiles::open(from.statePath));
  return StateTaker(executor, from, file)
      .run()
      .withContext("'{}'", from.statePath);
}

} // namespace dlc
