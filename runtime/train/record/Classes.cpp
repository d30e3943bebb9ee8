// SPDX-License-Identifier: Apache-2.0
// RUN/classes.json.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

namespace dlc {
namespace {

// The file is rewritten each time, so failure to write is not an error.
class Classes : public Recorder {
public:
  explicit Classes(std::string path) : path_(std::move(path)) {}

  void onValidation(const ValidationEvent &event) override {
    const std::string text =
        event.judgement ? classesJson(*event.judgement, event.epoch, event.step)
                        : "";
    if (text.empty())
      return;
    warnOf(writeFileAtomically(path_, text + "\n"));
  }

private:
  const std::string path_;
};

} // namespace

MadeRecorder openClasses(const Recorded &of) {
  return std::make_unique<Classes>(of.run + "/classes.json");
}

} // namespace dlc
