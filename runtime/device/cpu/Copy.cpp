// SPDX-License-Identifier: Apache-2.0
// copy: the same bytes in another place.
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/Kinds.h"

#include <cstring>

namespace dlc {
namespace {

constexpr int64_t kCopyGrain = 64 << 10; // bytes worth a thread

class Copy final : public Command {
public:
  Copy(const Threads &threads, Operand from, Operand to, int64_t bytes)
      : threads_(threads), from_(from.data), to_(to.data), bytes_(bytes) {}

  Status enqueue() override {
    if (from_ != to_)
      threads_.parallelFor(bytes_, kCopyGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(to_ + begin, from_ + begin,
                    static_cast<size_t>(end - begin));
      });
    return {};
  }

private:
  const Threads &threads_;
  const std::byte *from_;
  std::byte *to_;
  int64_t bytes_;
};

Result<std::unique_ptr<Command>> bindCopy(CpuDevice &device,
                                          const CommandSpec &spec) {
  DLC_TRY(expectCopy(spec));
  const Operand &from = spec.inputs[0];
  return std::make_unique<Copy>(device.threads(), from, spec.outputs[0],
                                bytes(from));
}

constexpr Kind kCopyKinds[] = {{"copy", bindCopy}};

} // namespace

std::span<const Kind> copyKinds() { return kCopyKinds; }

} // namespace dlc
