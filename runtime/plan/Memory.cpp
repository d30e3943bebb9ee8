// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Memory.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

namespace dlc {
namespace {

constexpr uint64_t kAlignment = 64; // of a tensor's place

uint64_t rangeOf(const plan::Buffer &buffer) {
  uint64_t bytes = plan::bytesOf(buffer.type()).value_or(0);
  return std::max<uint64_t>(bytes + kAlignment - 1, kAlignment) / kAlignment *
         kAlignment;
}

// Tracks the scratch region through a program: a write ends the lifetime of
// what was there before.
class Scratch {
public:
  Scratch(const plan::Plan &plan, const plan::Program &program)
      : plan(plan), program(program) {}

  std::vector<ScratchTensor> run() {
    for (const plan::Port &port : program.inputs())
      write(port.buffer(), -1, port.name());
    for (int64_t i = 0; i < program.commands_size(); ++i) {
      const plan::Command &command = program.commands(static_cast<int>(i));
      for (uint32_t id : command.inputs())
        read(id, i);
      for (uint32_t id : command.outputs())
        write(id, i,
              command.label().empty() ? command.kind() : command.label());
    }
    for (const plan::Port &port : program.outputs())
      read(port.buffer(), program.commands_size() - 1);
    return std::move(tensors);
  }

private:
  const plan::Buffer *scratch(uint32_t id) const {
    const plan::Buffer &buffer = program.buffers(static_cast<int>(id));
    const plan::Region &region =
        plan.regions(static_cast<int>(buffer.region()));
    return region.kind() == plan::Region::SCRATCH ? &buffer : nullptr;
  }
  // Calls visit for each current tensor in [begin, end), which it may erase.
  template <class Visit>
  void forEachIn(uint64_t begin, uint64_t end, Visit visit) {
    auto at = places.upper_bound(begin);
    if (at != places.begin() &&
        std::prev(at)->first + tensors[std::prev(at)->second].bytes > begin)
      --at;
    while (at != places.end() && at->first < end) {
      auto next = std::next(at);
      visit(at);
      at = next;
    }
  }
  void read(uint32_t id, int64_t command) {
    if (const plan::Buffer *buffer = scratch(id))
      forEachIn(buffer->offset(), buffer->offset() + rangeOf(*buffer),
                [&](auto at) { tensors[at->second].to = command; });
  }
  void write(uint32_t id, int64_t command, const std::string &node) {
    const plan::Buffer *buffer = scratch(id);
    if (!buffer)
      return;
    uint64_t begin = buffer->offset(), bytes = rangeOf(*buffer);
    auto same = places.find(begin);
    if (same != places.end() && tensors[same->second].bytes == bytes &&
        tensors[same->second].to == command)
      return; // in place
    forEachIn(begin, begin + bytes, [&](auto at) { places.erase(at); });
    places[begin] = tensors.size();
    tensors.push_back({node, buffer->type(), bytes, command, command});
  }

  const plan::Plan &plan;
  const plan::Program &program;
  std::vector<ScratchTensor> tensors;
  std::map<uint64_t, size_t> places; // offset to tensor, disjoint
};

// f32 [8, 256, 384]
std::string text(const plan::TensorType &type) {
  const std::optional<DType> element = plan::dtypeOf(type.dtype());
  return fmt::format("{} [{}]", element ? nameOf(*element) : "?",
                     fmt::join(type.shape(), ", "));
}

} // namespace

ProgramMemory memoryOf(const plan::Plan &plan, const plan::Program &program) {
  ProgramMemory memory;
  memory.bytes = program.scratch_bytes();
  std::vector<ScratchTensor> tensors = Scratch(plan, program).run();
  std::vector<int64_t> change(program.commands_size() + 2);
  for (const ScratchTensor &tensor : tensors) {
    change[tensor.from + 1] += static_cast<int64_t>(tensor.bytes);
    change[tensor.to + 2] -= static_cast<int64_t>(tensor.bytes);
  }
  int64_t live = 0;
  for (size_t i = 0; i < change.size(); ++i) {
    live += change[i];
    if (i > 0 && i <= size_t(program.commands_size()))
      memory.liveAt.push_back(static_cast<uint64_t>(live));
    if (live > static_cast<int64_t>(memory.live)) {
      memory.live = static_cast<uint64_t>(live);
      memory.peak = static_cast<int64_t>(i) - 1;
    }
  }
  for (ScratchTensor &tensor : tensors)
    if (tensor.from <= memory.peak && memory.peak <= tensor.to)
      memory.alive.push_back(std::move(tensor));
  std::stable_sort(memory.alive.begin(), memory.alive.end(),
                   [](const ScratchTensor &a, const ScratchTensor &b) {
                     return a.bytes > b.bytes;
                   });
  return memory;
}

static uint64_t bytesOfRegions(const plan::Plan &plan, bool onHost) {
  uint64_t bytes = 0;
  for (const plan::Region &region : plan.regions())
    if ((region.kind() == plan::Region::HOST) == onHost)
      bytes += region.bytes();
  return bytes;
}

uint64_t totalBytes(const plan::Plan &plan) {
  return bytesOfRegions(plan, false);
}
uint64_t hostBytes(const plan::Plan &plan) {
  return bytesOfRegions(plan, true);
}

// Pinned memory of the host, and the most that a program copies there.
static std::string hostRow(const plan::Plan &plan) {
  uint64_t most = 0;
  int tensors = 0;
  for (const plan::Program &program : plan.programs()) {
    uint64_t bytes = 0;
    int count = 0;
    for (const plan::Command &command : program.commands())
      if (command.kind() == "offload") {
        bytes += command.bytes() / 2; // read and written
        ++count;
      }
    if (bytes >= most)
      std::tie(most, tensors) = std::pair(bytes, count);
  }
  if (tensors == 0)
    return "";
  return fmt::format("on the host    {:>10}  pinned, not counted: {} tensors "
                     "of {} are copied there and back\n",
                     roundBytes(static_cast<double>(hostBytes(plan))), tensors,
                     roundBytes(static_cast<double>(most)));
}

std::string memoryTable(const plan::Plan &plan, size_t rows) {
  std::string table;
  auto row = [&](std::string_view name, uint64_t bytes) {
    table += fmt::format("  {:12} {:>10}\n", printable(name),
                         roundBytes(static_cast<double>(bytes)));
  };
  std::map<std::string, uint64_t> roles;
  for (const plan::State &state : plan.states())
    roles[state.role()] += plan::bytesOf(state.type()).value_or(0);
  for (const auto &[role, bytes] : roles)
    row(role, bytes);
  uint64_t scratch = 0;
  for (const plan::Region &region : plan.regions()) {
    if (region.kind() != plan::Region::STATE &&
        region.kind() != plan::Region::HOST)
      row(region.name(), region.bytes());
    if (region.kind() == plan::Region::SCRATCH)
      scratch = std::max<uint64_t>(scratch, region.bytes());
  }
  table += hostRow(plan);
  const plan::Program *largest = nullptr;
  for (const plan::Program &program : plan.programs())
    if (program.scratch_bytes() > scratch)
      table += fmt::format(
          "  {} takes {} more where it is called\n", printable(program.name()),
          roundBytes(static_cast<double>(program.scratch_bytes())));
    else if (!largest || program.scratch_bytes() > largest->scratch_bytes())
      largest = &program;
  if (!largest || largest->commands_size() == 0)
    return table;
  ProgramMemory memory = memoryOf(plan, *largest);
  const int64_t at = std::max<int64_t>(memory.peak, 0);
  table +=
      fmt::format("scratch of {}: {:.1f} % of it needed at once, by {} "
                  "tensors at command {} "
                  "of {} ({})\n",
                  largest->name(),
                  memory.bytes ? 100.0 * static_cast<double>(memory.live) /
                                     static_cast<double>(memory.bytes)
                               : 100.0,
                  memory.alive.size(), at, largest->commands_size(),
                  printable(largest->commands(static_cast<int>(at)).label()));
  for (size_t i = 0; i < std::min(rows, memory.alive.size()); ++i) {
    const ScratchTensor &tensor = memory.alive[i];
    table += fmt::format("  {:>10}  {:24}  {}\n",
                         roundBytes(static_cast<double>(tensor.bytes)),
                         text(tensor.type), printable(tensor.node));
  }
  if (memory.alive.size() > rows)
    table += fmt::format("  and {} more\n", memory.alive.size() - rows);
  return table;
}

} // namespace dlc
