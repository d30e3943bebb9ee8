// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Sizes.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/RankItems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace dlc {
namespace {

constexpr std::array<std::string_view, 10> kRoles = {
    "param",  "buffer", "const",       "moment", "ema",
    "scaler", "step",   "accumulator", "factor", "error"};

// Limits of the options of these names.
constexpr int64_t kMaxAccumulate = 1'000'000, kMaxSteps = int64_t(1) << 53;

// Verifies a plan; each member checks one kind of element.
class Verifier {
public:
  explicit Verifier(const plan::Plan &plan) : plan_(plan) {}

  Status run() {
    DLC_TRY(header());
    DLC_TRY(regions());
    DLC_TRY(states());
    DLC_TRY(kernels());
    for (const plan::Program &program : plan_.programs())
      DLC_TRY(checkProgram(program).withContext(
          fmt::format("program '{}'", program.name())));
    return plan::checkParts(plan_);
  }

private:
  Status header() {
    if (plan_.version() != kPlanVersion)
      return incompatible("plan version is {}, this is dlc {}, which runs "
                          "version {}: compile the model again",
                          plan_.version(), dlcVersion(), kPlanVersion);
    if (plan_.world_size() < 1 || plan_.world_size() > 65536)
      return corrupt("world size is {}, expected 1 to 65536",
                     plan_.world_size());
    if (plan_.batch() < 1)
      return corrupt("batch is {}, expected at least 1", plan_.batch());
    if (plan_.accumulate() < 0 || plan_.accumulate() > kMaxAccumulate)
      return corrupt("accumulates {} micro-batches, expected 0 to {}",
                     plan_.accumulate(), kMaxAccumulate);
    if (plan_.schedule_steps() < 0 || plan_.schedule_steps() > kMaxSteps)
      return corrupt("its schedule has {} steps, expected 0 to {}",
                     plan_.schedule_steps(), kMaxSteps);
    DLC_TRY(plateau());
    DLC_TRY(sizes());
    std::unordered_set<std::string> names;
    for (const plan::Program &program : plan_.programs())
      if (program.name().empty() || !names.insert(program.name()).second)
        return corrupt("program '{}' has no name or is given twice",
                       program.name());
    return {};
  }

  Status plateau() {
    if (!plan_.has_plateau())
      return {};
    const plan::Plateau &p = plan_.plateau();
    for (double x : {p.lr(), p.factor(), p.threshold(), p.min_lr()})
      if (!(x >= 0) || !std::isfinite(x))
        return corrupt("its schedule by validations has the number {}", x);
    const auto state =
        std::ranges::find(plan_.states(), "plateau", &plan::State::name);
    if (p.factor() >= 1 || p.threshold() > 1 || p.patience() < 0 ||
        state == plan_.states().end() || state->type().dtype() != plan::F64 ||
        plan::shapeOf(state->type()) != std::vector<int64_t>{4})
      return corrupt("its schedule by validations has no state f64 [4], or a "
                     "factor that does not reduce");
    return {};
  }

  Status sizes() {
    for (const plan::Size &size : plan_.sizes()) {
      if (size.batch() < 1)
        return corrupt("a size has the batch {}", size.batch());
      for (const plan::Size::Dim &dim : size.dims())
        if (dim.size() < 0)
          return corrupt("dimension '{}' of a size is {}", dim.name(),
                         dim.size());
    }
    if (plan::batchOf(plan_, 0) != plan_.batch())
      return corrupt("batch is {}, but {} in the first size", plan_.batch(),
                     plan::batchOf(plan_, 0));
    const auto count = static_cast<uint32_t>(plan::countSizes(plan_));
    for (const plan::Program &program : plan_.programs()) {
      if (program.size() >= count)
        return corrupt("program '{}' is of size {} of {}", program.name(),
                       program.size(), count);
      const std::string expected = plan::programName(
          plan::kindOf(program),
          program.size() ? plan_.sizes(static_cast<int>(program.size()))
                         : plan::Size(),
          static_cast<int>(program.size()));
      if (program.name() != expected)
        return corrupt("program '{}' is called so, expected '{}'",
                       program.name(), expected);
    }
    return {};
  }

  Status regions() {
    for (const plan::Region &region : plan_.regions()) {
      if (!plan::Region::Kind_IsValid(region.kind()))
        return corrupt("region '{}' is of kind {}", region.name(),
                       static_cast<int>(region.kind()));
      if (sizeOf(region) > kMaxMemory)
        return corrupt("region '{}' has {} bytes", region.name(),
                       sizeOf(region));
    }
    return {};
  }

  Status kernels() {
    for (const plan::Kernel &kernel : plan_.kernels())
      if (kernel.symbol().empty() ||
          !kernels_.emplace(kernel.symbol(), &kernel).second)
        return corrupt("kernel '{}' has no name or is given twice",
                       kernel.symbol());
    return {};
  }

  // Scratch is as large as the program that needs the most.
  uint64_t sizeOf(const plan::Region &region) const {
    uint64_t bytes = region.bytes();
    if (region.kind() == plan::Region::SCRATCH)
      for (const plan::Program &program : plan_.programs())
        bytes = std::max<uint64_t>(bytes, program.scratch_bytes());
    return bytes;
  }

  // Checks that the range [offset, offset + bytes of type) is in the region.
  Status place(uint32_t region, uint64_t offset, const plan::TensorType &type,
               uint64_t &bytes) {
    if (region >= static_cast<uint32_t>(plan_.regions_size()))
      return corrupt("is in region {} of {}", region, plan_.regions_size());
    std::optional<uint64_t> size = plan::bytesOf(type);
    if (!size)
      return corrupt("has no valid type");
    bytes = *size;
    std::optional<uint64_t> end = checkedAdd(offset, bytes);
    const plan::Region &home = plan_.regions(static_cast<int>(region));
    if (!end || *end > sizeOf(home))
      return corrupt("bytes [{}, +{}) are outside of region '{}' of {}", offset,
                     bytes, home.name(), sizeOf(home));
    if (offset % dlc::sizeOf(*plan::dtypeOf(type.dtype())) != 0)
      return corrupt("offset {} is not aligned to its elements", offset);
    return {};
  }

  Status states() {
    std::unordered_map<std::string, const plan::State *> byName;
    for (const plan::State &state : plan_.states()) {
      if (state.name().empty() || !byName.emplace(state.name(), &state).second)
        return corrupt("state '{}' has no name or is given twice",
                       state.name());
      DLC_TRY(checkState(state).withContext(
          fmt::format("state '{}'", state.name())));
    }
    for (const plan::State &state : plan_.states())
      DLC_TRY(checkOwner(state, byName));
    return checkDisjoint();
  }

  Status checkState(const plan::State &state) {
    if (std::find(kRoles.begin(), kRoles.end(), state.role()) == kRoles.end())
      return corrupt("role is '{}'", state.role());
    if (state.role() == "error" && state.type().dtype() != plan::F32)
      return corrupt("is an error, but not of f32");
    uint64_t bytes = 0;
    DLC_TRY(place(state.region(), state.offset(), state.type(), bytes));
    if (plan_.regions(static_cast<int>(state.region())).kind() !=
        plan::Region::STATE)
      return corrupt("is not in a state region");
    ranges_[state.region()].push_back({state.offset(), bytes, &state});
    return {};
  }

  static Status checkOwner(
      const plan::State &state,
      const std::unordered_map<std::string, const plan::State *> &byName) {
    bool ema = state.role() == "ema";
    bool accumulator = state.role() == "accumulator" && !state.of().empty();
    if (!ema && !accumulator && state.role() != "moment")
      return {};
    auto owner = byName.find(state.of());
    if (owner == byName.end())
      return corrupt("state '{}' belongs to '{}', which does not exist",
                     state.name(), state.of());
    if (ema && !mayAverage(state.type(), owner->second->type()))
      return corrupt("state '{}' has another type than '{}'", state.name(),
                     state.of());
    return {};
  }

  // Averages of 16-bit floats are f32.
  static bool mayAverage(plan::TensorType average, const plan::TensorType &of) {
    if (average.dtype() == plan::F32 &&
        (of.dtype() == plan::F16 || of.dtype() == plan::BF16))
      average.set_dtype(of.dtype());
    return average.SerializeAsString() == of.SerializeAsString();
  }

  struct Range {
    uint64_t offset, bytes;
    const plan::State *state;
  };

  Status checkDisjoint() {
    for (auto &[region, ranges] : ranges_) {
      std::sort(ranges.begin(), ranges.end(), [](auto &a, auto &b) {
        return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
      });
      for (size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].offset < ranges[i - 1].offset + ranges[i - 1].bytes)
          return corrupt("states '{}' and '{}' overlap",
                         ranges[i - 1].state->name(), ranges[i].state->name());
    }
    return {};
  }

  Status checkProgram(const plan::Program &program) {
    for (int i = 0; i < program.buffers_size(); ++i) {
      const plan::Buffer &buffer = program.buffers(i);
      uint64_t bytes = 0;
      DLC_TRY(place(buffer.region(), buffer.offset(), buffer.type(), bytes)
                  .withContext(fmt::format("buffer {}", i)));
    }
    DLC_TRY(checkPorts(program, program.inputs()));
    DLC_TRY(checkPorts(program, program.outputs()));
    DLC_TRY(checkFollower(program));
    UnderWay started;
    for (int i = 0; i < program.commands_size(); ++i) {
      const auto where = [&] {
        return fmt::format("command {} ('{}')", i, program.commands(i).label());
      };
      DLC_TRY(checkCommand(program, program.commands(i), started)
                  .withContext(where()));
    }
    if (!started.buckets.empty())
      return corrupt("bucket {} is never waited for", *started.buckets.begin());
    if (!started.copies.empty())
      return corrupt("copy {} is never waited for", *started.copies.begin());
    return {};
  }

  Status checkFollower(const plan::Program &program) {
    if (program.after().empty())
      return {};
    if (std::exchange(hasFollower_, true))
      return corrupt("runs after '{}', but another program follows one, too",
                     program.after());
    const auto leads = [&](const plan::Program &other) {
      return plan::kindOf(other) == program.after() && other.after().empty();
    };
    if (std::none_of(plan_.programs().begin(), plan_.programs().end(), leads))
      return corrupt("runs after '{}', which is no program that is run",
                     program.after());
    if (program.inputs_size() || program.outputs_size())
      return corrupt("runs after '{}' and has ports", program.after());
    for (const plan::Command &command : program.commands())
      if (startsBucket(command))
        return corrupt("runs after '{}' and has a collective", program.after());
    return {};
  }

  bool isOnHost(const plan::Program &program, uint32_t buffer) const {
    const uint32_t region = program.buffers(static_cast<int>(buffer)).region();
    return plan_.regions(static_cast<int>(region)).kind() == plan::Region::HOST;
  }

  template <class Ports>
  Status checkPorts(const plan::Program &program, const Ports &ports) const {
    std::unordered_set<std::string> names;
    for (const plan::Port &port : ports) {
      if (port.name().empty() || !names.insert(port.name()).second)
        return corrupt("port '{}' has no name or is given twice", port.name());
      if (port.buffer() >= static_cast<uint32_t>(program.buffers_size()))
        return corrupt("port '{}' is buffer {} of {}", port.name(),
                       port.buffer(), program.buffers_size());
      if (isOnHost(program, port.buffer()))
        return corrupt("port '{}' is in the memory of the host", port.name());
      if (port.limit() < 0 || (port.from_end() && port.limit() == 0))
        return corrupt("port '{}' has the limit {}", port.name(), port.limit());
    }
    return {};
  }

  static bool startsBucket(const plan::Command &command) {
    return command.kind() == "all_reduce" || command.kind() == "all_gather" ||
           command.kind() == "reduce_scatter";
  }

  template <class Ids>
  static Status checkIds(const plan::Program &program, const Ids &ids) {
    for (uint32_t id : ids)
      if (id >= static_cast<uint32_t>(program.buffers_size()))
        return corrupt("uses buffer {} of {}", id, program.buffers_size());
    return {};
  }

  template <class Ids, class Bytes>
  static Status checkOperands(const plan::Program &program, const Ids &ids,
                              const Bytes &bytes, std::string_view what) {
    if (ids.size() != bytes.size())
      return corrupt("has {} {}, its kernel {}", ids.size(), what,
                     bytes.size());
    for (int i = 0; i < ids.size(); ++i) {
      const uint64_t has =
          *plan::bytesOf(program.buffers(static_cast<int>(ids[i])).type());
      if (has < bytes[i])
        return corrupt("{} {} has {} bytes, its kernel takes {}", what, i, has,
                       bytes[i]);
    }
    return {};
  }

  // Kernels do not validate their arguments.
  Status checkKernel(const plan::Program &program,
                     const plan::Command &command) const {
    const std::string symbol = plan::stringAttribute(command, "symbol", "");
    if (symbol.empty())
      return corrupt("names no symbol");
    if (kernels_.empty()) // a plan of an early version
      return {};
    const auto found = kernels_.find(symbol);
    if (found == kernels_.end())
      return corrupt("kernel '{}' is none of the plan's", symbol);
    const plan::Kernel &kernel = *found->second;
    DLC_TRY(
        checkOperands(program, command.inputs(), kernel.inputs(), "inputs"));
    DLC_TRY(
        checkOperands(program, command.outputs(), kernel.outputs(), "outputs"));
    const char *name = plan::findAttribute(command, "grid") ? "grid" : "extent";
    const int64_t size = plan::intAttribute(command, name, -1);
    if (size != kernel.size())
      return corrupt("{} is {}, its kernel's is {}", name, size, kernel.size());
    return {};
  }

  // Collectives and copies that have been started, by number.
  struct UnderWay {
    std::set<int64_t> buckets, copies;
  };

  // Only copies access the memory of the host.
  Status checkCopy(const plan::Program &program, const plan::Command &command,
                   std::set<int64_t> &started) const {
    const bool offloads = command.kind() == "offload",
               fetches = command.kind() == "fetch";
    const int64_t number = plan::intAttribute(command, "copy", -1);
    if ((offloads || fetches) &&
        (command.inputs_size() != 1 || command.outputs_size() != 1))
      return corrupt("has {} inputs and {} outputs, expected 1 of each",
                     command.inputs_size(), command.outputs_size());
    for (uint32_t id : command.inputs())
      if (isOnHost(program, id) != fetches)
        return corrupt("reads the memory of the {}",
                       fetches ? "device" : "host");
    for (uint32_t id : command.outputs())
      if (isOnHost(program, id) != offloads)
        return corrupt("writes the memory of the {}",
                       offloads ? "device" : "host");
    if ((offloads || fetches) && !started.insert(number).second)
      return corrupt("copy {} is under way already", number);
    if (command.kind() == "wait_copy" && started.erase(number) == 0)
      return corrupt("copy {} was not started", number);
    return {};
  }

  Status checkCommand(const plan::Program &program,
                      const plan::Command &command, UnderWay &started) const {
    DLC_TRY(checkIds(program, command.inputs()));
    DLC_TRY(checkIds(program, command.outputs()));
    DLC_TRY(checkCopy(program, command, started.copies));
    if (command.kind().empty())
      return corrupt("has no kind");
    if (command.kind() == "kernel")
      DLC_TRY(checkKernel(program, command));
    if (command.kind() == "all_reduce" || command.kind() == "reduce_scatter") {
      std::string op = plan::stringAttribute(command, "op", "");
      if (op != "mean" && op != "sum")
        return corrupt("reduces by '{}', expected mean or sum", op);
    }
    if (startsBucket(command) &&
        !started.buckets.insert(plan::intAttribute(command, "bucket", -1))
             .second)
      return corrupt("its bucket is under way already");
    if (command.kind() == "wait" &&
        started.buckets.erase(plan::intAttribute(command, "bucket", -1)) == 0)
      return corrupt("its bucket was not started");
    return {};
  }

  const plan::Plan &plan_;
  std::map<uint32_t, std::vector<Range>> ranges_;
  std::unordered_map<std::string, const plan::Kernel *> kernels_;
  bool hasFollower_ = false;
};

} // namespace

Status verifyPlan(const plan::Plan &plan) { return Verifier(plan).run(); }

} // namespace dlc
