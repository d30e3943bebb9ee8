// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Recorder.h"

namespace dlc {
namespace {

class HookCalls : public Recorder {
public:
  explicit HookCalls(const TrainHooks &hooks) : hooks_(hooks) {}

  void onStep(const StepEvent &event) override {
    if (hooks_.onStep)
      end_ |= !hooks_.onStep(event);
  }
  void onEpoch(const EpochEvent &event) override {
    if (hooks_.onEpoch && event.isWhole)
      end_ |= !hooks_.onEpoch(event);
  }
  bool wantsEnd() override { return std::exchange(end_, false); }

private:
  const TrainHooks &hooks_;
  bool end_ = false;
};

} // namespace

MadeRecorder openHookCalls(const Recorded &of) {
  return std::make_unique<HookCalls>(of.setup.hooks);
}

} // namespace dlc
