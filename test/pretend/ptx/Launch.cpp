// SPDX-License-Identifier: Apache-2.0
#include "Launch.h"
#include "test/pretend/emulator/Grid.h"

#include <algorithm>

namespace dlc::ptx {
namespace {

/// Of registers and local memory that nothing has been written to.
constexpr uint8_t kPoison = 0xff;

} // namespace

Launch::Launch(const Kernel &kernel, std::vector<Array> global,
               std::vector<uint8_t> parameters)
    : kernel(kernel), parameters(std::move(parameters)),
      global(std::move(global)), shared(kernel.shared),
      visits(kernel.blocks.size()), races(kernel.shared, kernel.sharedGranule) {
  for (Array &a : shared)
    a.data = sharedBytes.emplace_back(a.bytes).data();
}

Launch::Frame *Launch::takeFrame() {
  if (!idle.empty()) {
    Frame *frame = idle.back();
    idle.pop_back();
    std::ranges::fill(frame->defined, 0);
    std::ranges::fill(frame->local, kPoison);
    return frame;
  }
  const size_t count = kernel.registerCount();
  auto frame = std::make_unique<Frame>(Frame{
      std::vector<uint64_t>(count, UINT64_MAX), std::vector<uint8_t>(count),
      std::vector<uint8_t>(kernel.localBytes, kPoison)});
  frame->registers.insert(frame->registers.end(), kernel.constants.begin(),
                          kernel.constants.end());
  return frames.emplace_back(std::move(frame)).get();
}

void Launch::runThread() {
  Frame *frame = takeFrame();
  Thread thread{frame->registers.data(), frame->defined.data(),
                frame->local.data(), *this,
                uint32_t(test::Fibers::current().thread())};
  for (const Instruction *i = kernel.code.data(); i;)
    i = i->run(i, thread);
  idle.push_back(frame);
}

const Instruction *Launch::fail(const Instruction *i, const Thread &t,
                                const std::string &what) {
  const Effects &effects = kernel.effects[i - kernel.code.data()];
  test::Fibers::current().fail("thread " + std::to_string(t.number) +
                               ", line " + kernel.lines[effects.statement] +
                               " " + what);
  return nullptr;
}

uint8_t *Launch::at(const Instruction *i, Thread &t, Space space,
                    uint64_t address, uint64_t bytes, Access access) {
  if (space == Space::Generic) {
    space = address >= kLocalWindow    ? Space::Local
            : address >= kSharedWindow ? Space::Shared
                                       : Space::Global;
    address &= kSharedWindow - 1;
  }
  const auto refuse = [&](const std::string &why) {
    fail(i, t,
         (access == Access::Write ? "writes " : "reads ") +
             std::to_string(bytes) + " bytes at " +
             describe(t, space, address) + ": " + why);
    return nullptr;
  };
  if (address % bytes)
    return refuse("not aligned");
  const int bits = space == Space::Global ? kGlobalBits : kSharedBits;
  const uint64_t number = (address >> bits) - 1,
                 offset = address & ((uint64_t(1) << bits) - 1);
  if (space == Space::Local) {
    if (number || offset + bytes > kernel.localBytes)
      return refuse("out of bounds");
    return t.local + offset;
  }
  std::vector<Array> &arrays = space == Space::Global ? global : shared;
  if (number >= arrays.size() || offset + bytes > arrays[number].bytes)
    return refuse("out of bounds");
  Array &array = arrays[number];
  if (space == Space::Shared && access != Access::Atomic) {
    const int64_t other = races.access(
        number, offset, bytes, access == Access::Write,
        {uint64_t(test::runningBlock()) + 1, t.barriers, t.meetings, t.number});
    if (other >= 0)
      return refuse("a race with thread " + std::to_string(other));
  }
  return array.data + offset;
}

std::string Launch::describe(const Thread &t, Space space,
                             uint64_t address) const {
  if (space == Space::Local)
    return std::to_string(int64_t(address - kLocalAddress)) + " of " +
           std::to_string(kernel.localBytes) + " bytes of local memory";
  const bool isGlobal = space == Space::Global;
  const std::vector<Array> &arrays = isGlobal ? global : shared;
  const int bits = isGlobal ? kGlobalBits : kSharedBits;
  // A small way before an array belongs to it, too.
  const uint64_t half = uint64_t(1) << (bits - 1);
  const uint64_t number = ((address + half) >> bits) - 1;
  if (number >= arrays.size())
    return "address " + std::to_string(address) + ", which is no array's";
  const int64_t offset = int64_t(address - ((number + 1) << bits));
  return std::to_string(offset) + " of " +
         std::to_string(arrays[number].bytes) + " bytes of " +
         arrays[number].name;
}

} // namespace dlc::ptx
