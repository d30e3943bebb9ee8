// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/forecast/ScratchPeaks.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/graph/LastWriters.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace dlc::forecast {
namespace {

// Alignment of buffers; padding is added to the buffer before it.
constexpr uint64_t kAlignment = 64;

// The result of a command until its last use.
struct Stay {
  int first, last;
  int64_t bytes;
  bool isGathered = false, isScattered = false;
};

std::vector<Stay> staysIn(const plan::Plan &plan,
                          const plan::Program &program) {
  plan::LastWriters writers;
  std::vector<Stay> stays;
  std::map<int64_t, std::set<int>> travelling; // by bucket
  const auto inScratch = [&](uint32_t id, auto visit) {
    const plan::Buffer &buffer = program.buffers(static_cast<int>(id));
    if (plan.regions(static_cast<int>(buffer.region())).kind() ==
        plan::Region::SCRATCH)
      visit(buffer.offset(),
            buffer.offset() + plan::bytesOf(buffer.type()).value_or(0));
  };
  for (int i = 0; i < program.commands_size(); ++i) {
    const plan::Command &command = program.commands(i);
    const int64_t bucket = plan::intAttribute(command, "bucket", -1);
    if (command.kind() == "wait") {
      for (int who : travelling[bucket])
        stays[static_cast<size_t>(who)].last = i;
      continue;
    }
    std::set<int> read;
    for (uint32_t id : command.inputs())
      inScratch(id, [&](uint64_t begin, uint64_t end) {
        writers.read(begin, end, read);
      });
    const bool isScatter = command.kind() == "reduce_scatter";
    for (int who : read) {
      Stay &stay = stays[static_cast<size_t>(who)];
      stay.last = i;
      stay.isScattered |= isScatter;
    }
    if (isScatter)
      travelling[bucket] = std::move(read);
    for (uint32_t id : command.outputs())
      inScratch(id, [&](uint64_t begin, uint64_t end) {
        std::set<int> there;
        writers.read(begin, end, there);
        if (there.size() == 1 && read.contains(*there.begin()) &&
            stays[static_cast<size_t>(*there.begin())].bytes ==
                static_cast<int64_t>(end - begin))
          return; // in place
        writers.write(begin, (end + kAlignment - 1) / kAlignment * kAlignment,
                      static_cast<int>(stays.size()));
        stays.push_back({i, i, static_cast<int64_t>(end - begin),
                         command.kind() == "all_gather"});
      });
  }
  return stays;
}

template <class Counts>
uint64_t peak(const std::vector<Stay> &stays, int commands, Counts counts) {
  std::vector<int64_t> changes(static_cast<size_t>(commands) + 1);
  for (const Stay &stay : stays)
    if (counts(stay)) {
      changes[static_cast<size_t>(stay.first)] += stay.bytes;
      changes[static_cast<size_t>(stay.last) + 1] -= stay.bytes;
    }
  int64_t now = 0, most = 0;
  for (int64_t change : changes)
    most = std::max(most, now += change);
  return static_cast<uint64_t>(most);
}

} // namespace

ScratchPeaks scratchPeaks(const plan::Plan &plan,
                          const plan::Program &program) {
  const std::vector<Stay> stays = staysIn(plan, program);
  const auto of = [&](auto counts) {
    return peak(stays, program.commands_size(), counts);
  };
  return {of([](const Stay &) { return true; }),
          of([](const Stay &stay) { return !stay.isGathered; }),
          of([](const Stay &stay) {
            return !stay.isGathered && !stay.isScattered;
          })};
}

} // namespace dlc::forecast
