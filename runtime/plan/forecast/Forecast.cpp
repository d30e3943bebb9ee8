// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/forecast/Forecast.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/forecast/HostLink.h"
#include "runtime/plan/forecast/ScratchPeaks.h"
#include "runtime/plan/parts/RankItems.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dlc::forecast {
namespace {

constexpr double kForwardShare = 1.0 / 3; // of a step's FLOPs

bool isScatter(const plan::Command &c) { return c.kind() == "reduce_scatter"; }
bool isCollective(const plan::Command &c) {
  return c.kind() == "all_reduce" || isScatter(c);
}
// In a plan with --zero; its effect is predicted for any plan.
bool isGather(const plan::Command &c) { return c.kind() == "all_gather"; }
bool isWait(const plan::Command &c) { return c.kind() == "wait"; }

double bytesOfBucket(const plan::Program &program, const plan::Command &c) {
  double bytes = 0;
  for (uint32_t input : c.inputs())
    bytes += static_cast<double>(
        plan::bytesOf(program.buffers(static_cast<int>(input)).type())
            .value_or(0));
  return bytes;
}

std::vector<const plan::Program *> programsOfUpdate(const plan::Plan &plan) {
  const auto find = [&](std::string_view name) -> const plan::Program * {
    for (const plan::Program &program : plan.programs())
      if (program.name() == name)
        return &program;
    return nullptr;
  };
  std::vector<const plan::Program *> programs;
  if (const auto *accumulate = find("accumulate_step"))
    programs.assign(
        static_cast<size_t>(std::max<int64_t>(plan.accumulate(), 1) - 1),
        accumulate);
  if (const auto *step = find("train_step"))
    programs.push_back(step);
  return programs;
}

// Two lanes of time, and on hosts one of what overtakes.
class Lanes {
public:
  Lanes(const plan::Plan &plan, const Network &network, int64_t ranks,
        ZeroLevel level, int64_t group)
      : network_(network), among_(amongGroups(network, group)), ranks_(ranks),
        group_(group), scatters_(level >= ZeroLevel::Gradients),
        overtakes_(plan.target() == "cpu") {}

  void run(const plan::Program &program, const std::vector<double> &times) {
    for (int i = 0; i < program.commands_size(); ++i) {
      const plan::Command &c = program.commands(i);
      const int64_t bucket = plan::intAttribute(c, "bucket", -1);
      if (isCollective(c))
        start(bucket, bytesOfBucket(program, c),
              overtakes_ && plan::intAttribute(c, "ahead", 0) > 0);
      else if (isWait(c))
        waitFor(ends_[bucket]);
      else if (plan::copiesBesideCommands(c))
        now_ += link_.pass(c, now_, times[static_cast<size_t>(i)]);
      else if (!isGather(c)) {
        now_ += times[static_cast<size_t>(i)];
        step.compute += times[static_cast<size_t>(i)];
      }
    }
  }
  // Gathers all parameters, at once or `beside` that many seconds of work.
  void gather(double bytes, double beside) {
    const double seconds = scatterOrGather(network_, group_, bytes).seconds;
    step.communication += seconds;
    waitFor(now_ + std::max(0.0, seconds - beside));
  }
  Step end() {
    step.seconds = now_;
    step.copies = link_.seconds;
    step.copiesExposed = link_.exposed;
    return step;
  }

  Step step;

private:
  Collective scatter(double bytes) const {
    Collective c = scatterOrGather(network_, group_, bytes);
    const Collective among =
        allReduce(among_, ranks_ / group_, bytes / static_cast<double>(group_));
    return {c.seconds + among.seconds,
            group_ > 1 ? c.algorithm : among.algorithm};
  }
  void start(int64_t bucket, double bytes, bool ahead) {
    const Collective c = scatters_ && bytes >= static_cast<double>(group_) * 4
                             ? scatter(bytes)
                             : allReduce(network_, ranks_, bytes);
    if (bytes > largest_) {
      largest_ = bytes;
      step.algorithm = c.algorithm;
    }
    double &free = ahead ? freeAhead_ : free_;
    free = std::max(free, now_) + c.seconds;
    ends_[bucket] = free;
    step.communication += c.seconds;
  }
  void waitFor(double end) {
    if (end <= now_)
      return;
    step.exposed += end - now_;
    now_ = end;
  }

  const Network &network_;
  const Network among_;   // between ranks of equal index in groups
  int64_t ranks_, group_; // that split states
  bool scatters_, overtakes_;
  double now_ = 0, free_ = 0, freeAhead_ = 0, largest_ = 0;
  HostLink link_;
  std::map<int64_t, double> ends_;
};

struct Bytes {
  uint64_t parameters = 0, moments = 0, gradients = 0, all = 0, bucket = 0;
  uint64_t slots = 0; // of whole gradients that ranks split
  // Split parameters, and slots for whole ones.
  uint64_t gathered = 0, room = 0;
};

// Buckets alternate between two slots.
uint64_t slotsOf(const plan::Program &program) {
  uint64_t slots[2] = {};
  int number = 0;
  for (const plan::Command &c : program.commands())
    if (isCollective(c)) {
      uint64_t &slot = slots[number++ % 2];
      slot = std::max(slot, static_cast<uint64_t>(bytesOfBucket(program, c)));
    }
  return slots[0] + slots[1];
}

// Removes scratch for exchanges from `all`, if the plan scatters or gathers.
// Other plans are assumed to gather all parameters, two buckets at a time.
void countExchanges(const plan::Plan &plan, const plan::Program &program,
                    Bytes &bytes) {
  const ScratchPeaks peaks = scratchPeaks(plan, program);
  std::map<uint64_t, uint64_t> gathered; // by offset
  for (const plan::Command &c : program.commands())
    if (plan::gathersElsewhere(c)) {
      const plan::Buffer &own = program.buffers(static_cast<int>(c.inputs(0)));
      gathered[own.offset()] = plan::bytesOf(own.type()).value_or(0);
    }
  const bool scatters = std::ranges::any_of(program.commands(), isScatter);
  bytes.slots = scatters ? peaks.withoutGathers - peaks.withoutExchanges
                         : slotsOf(program);
  bytes.gathered = gathered.empty() ? bytes.parameters : 0;
  bytes.room = gathered.empty() ? std::min(2 * bytes.bucket, bytes.parameters)
                                : peaks.all - peaks.withoutGathers;
  for (const auto &[offset, size] : gathered)
    bytes.gathered += size;
  bytes.all -= std::min(bytes.all, peaks.all - peaks.withoutExchanges);
}

Bytes count(const plan::Plan &plan) {
  Bytes bytes;
  for (const plan::State &state : plan.states()) {
    const uint64_t size = plan::bytesOf(state.type()).value_or(0);
    if (state.role() == "moment" || state.role() == "ema")
      bytes.moments += size;
    else if (state.role() == "param" && state.trainable())
      bytes.parameters += size;
  }
  bytes.all = totalBytes(plan);
  for (const plan::Region &region : plan.regions()) {
    if (region.kind() == plan::Region::GRADIENT)
      bytes.gradients += region.bytes();
  }
  for (const plan::Program *program : programsOfUpdate(plan))
    for (const plan::Command &c : program->commands())
      if (isCollective(c))
        bytes.bucket = std::max(
            bytes.bucket, static_cast<uint64_t>(bytesOfBucket(*program, c)));
  for (const plan::Program *program : programsOfUpdate(plan))
    if (program->name() == "train_step")
      countExchanges(plan, *program, bytes);
  return bytes;
}

uint64_t memoryOf(const Bytes &b, int64_t group, ZeroLevel level) {
  const auto saved = [&](uint64_t bytes) {
    return bytes - bytes / static_cast<uint64_t>(group);
  };
  uint64_t bytes = b.all;
  if (level >= ZeroLevel::Moments)
    bytes -= saved(b.moments);
  if (level >= ZeroLevel::Gradients)
    bytes = bytes - saved(b.gradients) + b.slots;
  if (level >= ZeroLevel::Parameters)
    bytes = bytes - saved(b.gathered) + b.room;
  return bytes;
}

bool isHalf(const plan::Program &program, const plan::Command &command) {
  if (command.inputs_size() == 0)
    return false;
  auto id = static_cast<int>(command.inputs(0));
  plan::DType type = program.buffers(id).type().dtype();
  return type == plan::F16 || type == plan::BF16;
}

} // namespace

std::string_view nameOf(ZeroLevel level) {
  static constexpr std::string_view kNames[] = {"ddp", "zero 1", "zero 2",
                                                "zero 3"};
  return kNames[static_cast<size_t>(level)];
}

// Counts data read twice: a library's batch norm needs statistics of the whole
// batch, which exceeds caches, before it normalises.
uint64_t bytesOf(const plan::Program &program, const plan::Command &command) {
  int twice = 0; // operands
  if (command.kind() == "fused_batch_norm")
    twice = 1; // x
  else if (command.kind() == "fused_batch_norm_backward")
    twice = 2; // dy and x
  uint64_t bytes = command.bytes();
  for (int i = 0; i < std::min(twice, command.inputs_size()); ++i) {
    auto id = static_cast<int>(command.inputs(i));
    bytes += plan::bytesOf(program.buffers(id).type()).value_or(0);
  }
  return bytes;
}

// Overhead of a library's attention, which computes whole tiles of 128 queries
// and keys, relative to its FLOPs.
static double inTiles(const plan::Program &program,
                      const plan::Command &command) {
  constexpr int64_t kTile = 128;
  const bool isJoint = command.kind().starts_with("attention_joint");
  const int q = command.kind().ends_with("_backward"), v = isJoint ? q : q + 2;
  const int length =
      isJoint || plan::stringAttribute(command, "layout", "bhtd") == "bthd" ? 1
                                                                            : 2;
  double factor = 1;
  for (const int operand : {q, v})
    if (operand < command.inputs_size())
      if (const auto &type =
              program.buffers(static_cast<int>(command.inputs(operand))).type();
          type.shape_size() == 4 && type.shape(length) > 0)
        factor *= double((type.shape(length) + kTile - 1) / kTile * kTile) /
                  double(type.shape(length));
  return factor;
}

double secondsOf(const GpuFigures &gpu, const plan::Program &program,
                 const plan::Command &command) {
  if (plan::copiesBesideCommands(command)) // read and written
    return command.kind() == "wait_copy"
               ? 0
               : copySeconds(gpu, static_cast<double>(command.bytes()) / 2);
  auto flops = static_cast<double>(command.flops());
  if (command.kind().starts_with("attention"))
    flops *= inTiles(program, command);
  const bool isGenerated = command.kind() == "kernel";
  return secondsOf(
      gpu,
      {.kind = isGenerated ? std::string_view() : command.kind(),
       .tensorCores = plan::findAttribute(command, "tensor_cores") != nullptr,
       .half = isHalf(program, command),
       .flops = flops,
       .bytes = static_cast<double>(bytesOf(program, command))});
}

CommandTimes predictedTimes(const plan::Plan &plan, const GpuFigures &gpu) {
  CommandTimes times;
  for (const plan::Program *program : programsOfUpdate(plan)) {
    times.emplace_back(program, std::vector<double>());
    for (const plan::Command &c : program->commands())
      times.back().second.push_back(
          isCollective(c) || isWait(c) ? 0 : secondsOf(gpu, *program, c));
  }
  return times;
}

Result<CommandTimes> measuredTimes(const plan::Plan &plan,
                                   const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path, 256 << 20));
  const auto notOne = [&](std::string_view why) {
    return corrupt("'{}': no profile of this model: {}", path, why);
  };
  auto json = parseJson(text);
  if (!json)
    return notOne(json.status().message());
  if (!json->is_array())
    return notOne("expected a list");
  std::map<std::string, std::vector<double>> rows;
  for (const Json &row : *json) {
    if (!row.is_object() || !row.value("program", Json()).is_string() ||
        !row.value("seconds", Json()).is_number() ||
        !row.value("calls", Json()).is_number_unsigned() || row["calls"] == 0)
      return notOne("expected rows of program, seconds and calls");
    rows[row["program"].get<std::string>()].push_back(
        row["seconds"].get<double>() / row["calls"].get<double>());
  }
  CommandTimes times;
  for (const plan::Program *program : programsOfUpdate(plan)) {
    auto &seconds = rows[program->name()];
    if (seconds.size() != static_cast<size_t>(program->commands_size()))
      return notOne(fmt::format("{} has {} commands there, {} here",
                                program->name(), seconds.size(),
                                program->commands_size()));
    times.emplace_back(program, seconds);
  }
  return times;
}

Step predict(const plan::Plan &plan, const CommandTimes &times,
             const Network &network, int64_t ranks, ZeroLevel level,
             int64_t group) {
  const Bytes bytes = count(plan);
  const int64_t shares = group > 0 ? group : ranks;
  Lanes lanes(plan, network, ranks, level, shares);
  for (const auto &[program, seconds] : times)
    lanes.run(*program, seconds);
  const auto parameters = static_cast<double>(bytes.parameters);
  if (level == ZeroLevel::Parameters) {
    const double compute = lanes.step.compute;
    lanes.gather(parameters, kForwardShare * compute);
    // The backward pass also overlaps its own scatters.
    lanes.gather(parameters, std::max(0.0, (1 - kForwardShare) * compute -
                                               lanes.step.communication));
  } else if (level != ZeroLevel::None) {
    lanes.gather(parameters, 0);
  }
  Step step = lanes.end();
  const auto apart =
      static_cast<double>(std::max<int64_t>(1, plan::syncEvery(plan)));
  if (const plan::Program *sync = plan::findProgram(plan, plan::kSync)) {
    Lanes meeting(plan, network, ranks, level, shares); // a step's share of it
    meeting.run(*sync, std::vector<double>(sync->commands_size()));
    const Step all = meeting.end();
    step.seconds += all.seconds / apart;
    step.communication += all.communication / apart;
    step.exposed += all.exposed / apart;
    step.algorithm = all.algorithm;
  }
  step.waiting =
      network.jitter * step.compute * expectedLargest(ranks) / std::sqrt(apart);
  step.seconds += step.waiting;
  if (network.input > 0)
    step.seconds = std::max(
        step.seconds,
        static_cast<double>(std::min(network.node, ranks) * plan.batch() *
                            std::max<int64_t>(1, plan.accumulate())) /
            network.input);
  step.memory = memoryOf(bytes, shares, level);
  return step;
}

double expectedLargest(int64_t n) {
  // E[X]: the integral of P(X > x) above 0, minus that of P(X < x) below.
  constexpr double kStep = 1.0 / 64, kEnd = 10;
  if (n <= 1)
    return 0;
  double sum = 0;
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    const double tail = std::erfc(x / std::sqrt(2.0)) / 2;
    sum += 1 - std::pow(1 - tail, n) - std::pow(tail, n);
  }
  return sum * kStep;
}

} // namespace dlc::forecast
