// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Recorder.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/Samples.h"

namespace dlc {
namespace {

class DataWait : public Recorder {
public:
  explicit DataWait(const RunSetup &setup) : setup_(setup) {}

  void onEnd(const EndEvent &event) override {
    constexpr double kMuch = 0.1;
    if (event.shareWaited >= kMuch)
      info("data-bound: {:.0f} % of the time steps waited for samples; {}",
           100 * event.shareWaited,
           adviceOnWaiting(setup_.data.sets[0], event.shareWaited,
                           setup_.ranks.size()));
  }

private:
  const RunSetup &setup_;
};

} // namespace

MadeRecorder openDataWait(const Recorded &of) {
  if (of.setup.options.quiet)
    return nullptr;
  return std::make_unique<DataWait>(of.setup);
}

} // namespace dlc
