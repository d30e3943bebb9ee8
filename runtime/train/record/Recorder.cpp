// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

#include <cmath>

namespace dlc {

Result<std::vector<std::unique_ptr<Recorder>>>
openRecorders(const TrainOptions &options, const std::string &run, int64_t step,
              bool hasStatistics) {
  std::vector<std::unique_ptr<Recorder>> recorders;
  DLC_ASSIGN(auto csv, openCsv(run + "/results.csv", step));
  recorders.push_back(std::move(csv));
  if (hasStatistics && options.statsEvery != 0) {
    DLC_ASSIGN(auto statistics, openStatistics(run + "/stats.jsonl", step));
    recorders.push_back(std::move(statistics));
  }
  if (options.tensorboard) {
    DLC_ASSIGN(auto events, openEvents(run + "/tensorboard", step));
    recorders.push_back(std::move(events));
  }
  if (!options.prometheus.empty())
    recorders.push_back(openPrometheus(options.prometheus, run));
  return recorders;
}

double metricOf(const StepEvent &event, std::string_view name) {
  for (size_t i = 0; i < event.names.size(); ++i)
    if (event.names[i] == name)
      return event.values[i];
  return NAN;
}

void OneWarning::check(const Status &status) {
  if (!status.ok() && !said_)
    warning("{}; training continues", status.message());
  said_ |= !status.ok();
}

} // namespace dlc
