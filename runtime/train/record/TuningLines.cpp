// SPDX-License-Identifier: Apache-2.0
// RUN/tuning.json.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/device/TuneChoices.h"

namespace dlc {
namespace {

// Failure to write is not an error.
class Tuning : public Recorder {
public:
  Tuning(const TuneChoices &choices, std::string path)
      : choices_(choices), path_(std::move(path)) {}

  void onStart(const Progress &) override { write(); }
  void onEnd(const EndEvent &) override { write(); } // also of validations

private:
  void write() const {
    if (choices_.isEmpty())
      return;
    warnOf(writeFileAtomically(path_, dumpJson(choices_.describe(), 1) + "\n"));
  }

  const TuneChoices &choices_;
  const std::string path_;
};

} // namespace

MadeRecorder openTuning(const Recorded &of) {
  return std::make_unique<Tuning>(*of.setup.options.tune.choices,
                                  of.run + "/tuning.json");
}

} // namespace dlc
