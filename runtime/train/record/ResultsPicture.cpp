// SPDX-License-Identifier: Apache-2.0
// RUN/results.svg and results.png: the run so far, at ends of epochs.
#include "runtime/train/record/Curves.h"
#include "runtime/train/record/Recorder.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

namespace dlc {
namespace {

constexpr std::string_view kStepCurves[] = {"loss", "lr", "grad_norm",
                                            "loss_scale"};
constexpr size_t kMostPanels = 12;

class ResultsPicture : public Recorder {
public:
  ResultsPicture(std::string run, RunLock &lock)
      : run_(std::move(run)), lock_(lock) {}

  // What the run has said before it was resumed.
  Status readLines(const std::string &path, bool isStep) {
    if (!exists(path))
      return {};
    DLC_ASSIGN(const MappedFile file, MappedFile::open(path));
    std::string_view text = file.text();
    for (size_t end; (end = text.find('\n')) != text.npos;
         text.remove_prefix(end + 1)) {
      const auto line = parseJson(text.substr(0, end));
      if (!line || !line->is_object() ||
          !line->value("step", Json()).is_number())
        continue;
      const auto step = (*line)["step"].get<double>();
      for (const auto &[key, value] : line->items())
        if (isStep ? isStepCurve(key) : key != "step" && key != "epoch")
          curve(isStep, key)
              .add(step, value.is_number() ? value.get<double>() : NAN);
    }
    return {};
  }

  void onStep(const StepEvent &event) override {
    for (size_t i = 0; i < event.names.size(); ++i)
      if (isStepCurve(event.names[i]))
        curve(true, event.names[i])
            .add(static_cast<double>(event.step), event.values[i]);
  }

  void onEpoch(const EpochEvent &event) override {
    for (const auto &[name, value] : event.values)
      curve(false, name).add(static_cast<double>(event.step), value);
    // Pixels take a while.
    const auto now = Clock::now();
    if (now - written_ >= std::chrono::seconds(2))
      write(now - painted_ >= std::chrono::seconds(60));
  }

  void onEnd() override { write(true); }

private:
  using Clock = std::chrono::steady_clock;

  static bool isStepCurve(std::string_view name) {
    return std::find(std::begin(kStepCurves), std::end(kStepCurves), name) !=
           std::end(kStepCurves);
  }
  Curve &curve(bool isStep, const std::string &name) {
    std::deque<Curve> &all = isStep ? steps_ : epochs_;
    for (Curve &known : all)
      if (known.name() == name)
        return known;
    return all.emplace_back(name);
  }

  // The losses of training and validation together, then what a step reports,
  // then each metric, of the weights and of their averages.
  void write(bool asPixels) {
    written_ = Clock::now();
    std::vector<CurvePanel> panels = {{"loss", {}, true}};
    const auto panel = [&](const std::string &title) -> CurvePanel & {
      for (CurvePanel &known : panels)
        if (known.title == title)
          return known;
      return panels.emplace_back(CurvePanel{title, {}, title == "grad_norm"});
    };
    for (const Curve &curve : steps_)
      panel(curve.name()).curves.push_back(&curve);
    for (const Curve &curve : epochs_) {
      const size_t line = curve.name().find('_');
      panel(curve.name().substr(line + 1)).curves.push_back(&curve);
    }
    panels.resize(std::min(panels.size(), kMostPanels));
    writeDrawn("/results.svg", curvesSvg(run_, panels));
    if (!asPixels)
      return;
    painted_ = written_;
    writeDrawn("/results.png", curvesPng(run_, panels));
  }

  // Training finds by itself that the folder is another's, and ends.
  void writeDrawn(std::string_view name, const std::string &picture) {
    if (lock_.check().ok())
      warning_.check(writeFileAtomically(run_ + std::string(name), picture));
  }

  const std::string run_;
  RunLock &lock_;
  std::deque<Curve> steps_, epochs_; // stay where they are
  Clock::time_point written_{}, painted_{};
  OneWarning warning_;
};

} // namespace

Result<std::unique_ptr<Recorder>> openPicture(const std::string &run,
                                              RunLock &lock) {
  auto picture = std::make_unique<ResultsPicture>(run, lock);
  DLC_TRY(picture->readLines(run + "/metrics.jsonl", true));
  DLC_TRY(picture->readLines(run + "/epochs.jsonl", false));
  return std::unique_ptr<Recorder>(std::move(picture));
}

} // namespace dlc
