// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Recorder.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/Samples.h"

#include <fmt/ranges.h>

namespace dlc {
namespace {

// "48.0 MiB: ...": device memory of this rank.
std::string memoryText(const Executor &executor) {
  const auto mebibytes = [](uint64_t bytes) {
    return fmt::format("{:.1f} MiB", double(bytes) / (1 << 20));
  };
  const MemoryReport memory = executor.memory();
  std::string text =
      fmt::format("{}:", mebibytes(memory.regions + memory.workspace));
  const auto &regions = executor.plan().regions();
  for (int i = 0; i < regions.size(); ++i)
    if (const uint64_t bytes = executor.bytesOfRegion(i))
      text += fmt::format(" {} {},", regions[i].name(), mebibytes(bytes));
  return fmt::format("{} libraries and inputs {}; pinned on the host {}", text,
                     mebibytes(memory.workspace), mebibytes(memory.host));
}

// "epoch 3: val loss 0.1234 accuracy 97.00 % f1 0.9712"
std::string epochText(const EpochEvent &event) {
  std::string text = fmt::format("epoch {}:", event.epoch);
  for (const auto &[name, value] : event.values) {
    const size_t line = name.find('_');
    const std::string metric = name.substr(line + 1);
    if (metric == "loss")
      text += fmt::format(" {} loss {:.4f}", name.substr(0, line), value);
    else if (metric == "accuracy")
      text += fmt::format(" accuracy {:.2f} %", 100 * value);
    else
      text += fmt::format(" {} {:.4f}", metric, value);
  }
  return text;
}

class Messages : public Recorder {
public:
  explicit Messages(const Recorded &of) : setup_(of.setup), run_(of.run) {}

  void onStart(const Progress &progress) override {
    const TrainOptions &options = setup_.options;
    if (options.quiet)
      return;
    if (!options.missing.empty())
      info("'{}/config.yaml' is of an older version, without {}: defaults are "
           "used",
           run_, fmt::join(options.missing, ", "));
    if (progress.step >= setup_.total)
      return info("run {} has done {} of {} steps: nothing is left; more are "
                  "--steps=N or --epochs=N",
                  run_, progress.step, setup_.total);
    if (setup_.isPatienceOver(progress.best))
      return info("run {} has ended at step {}: {}", run_, progress.step,
                  patienceText(progress.best));
    info("run {}: {}", run_, stepsText(progress.step));
    if (setup_.isEndless() && options.saveEvery == 0 &&
        options.saveSeconds == 0)
      warning("no epoch ends during the run, so the only checkpoint is written "
              "at its end: --save-every=N or a time adds more");
    if (const Executor &executor = setup_.session->executor();
        !executor.isOnHost())
      info("memory of each GPU: {}", memoryText(executor));
  }

  void onValidation(const ValidationEvent &event) override {
    if (!setup_.options.quiet)
      info("{}", epochText(event));
  }

  void onSaved(const SavedEvent &event) override {
    const Progress &progress = event.progress;
    if (setup_.isPatienceOver(progress.best) && progress.step < setup_.total)
      info("ended: {}", patienceText(progress.best));
    if (event.asked && event.isKnown && !setup_.options.quiet)
      info("asked by a signal: wrote checkpoint-{}", progress.step);
  }

  void onEnd(const EndEvent &event) override {
    constexpr double kMuch = 0.1;
    if (event.shareWaited >= kMuch && !setup_.options.quiet)
      info("data-bound: {:.0f} % of the time steps waited for samples; {}",
           100 * event.shareWaited,
           adviceOnWaiting(setup_.data.sets[0], event.shareWaited,
                           setup_.ranks.size()));
  }

private:
  // "300 steps of 64 samples (16 a rank), 100 an epoch of 6400, 4 ranks"
  std::string stepsText(int64_t first) const {
    const Sampling &sampling = setup_.sampling;
    const std::vector<int64_t> counts = countsOf(setup_.data.sets);
    return fmt::format(
        "{} steps of {} samples{} ({}), {}{}", setup_.total,
        sampling.samplesOfUpdate(),
        sampling.window > 1 ? " (" + batchText(sampling) + " a rank)" : "",
        setup_.isEndless()
            ? "as they come"
            : fmt::format("{} an epoch of {}", sampling.updatesPerEpoch(counts),
                          setup_.data.samples()),
        ranksText(sampling),
        first > 0 ? fmt::format(", from step {}", first) : std::string());
  }

  std::string patienceText(const Best &best) const {
    return fmt::format("{} validations without an improvement of {}, {:.6g} at "
                       "step {} (--patience={})",
                       best.waited, setup_.bestBy->key, best.value, best.step,
                       setup_.options.patience);
  }

  const RunSetup &setup_;
  const std::string &run_;
};

} // namespace

MadeRecorder openMessages(const Recorded &of) {
  return std::make_unique<Messages>(of);
}

} // namespace dlc
