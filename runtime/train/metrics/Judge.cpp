// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/Judge.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/data/Convert.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/BatchSweep.h"
#include "runtime/train/session/Inputs.h"

#include <cstring>

namespace dlc {
namespace {

// Index of the output's labels among those that the loss reads.
Result<size_t> findLabels(const Dataset &data, const Scores &scores) {
  std::vector<size_t> all;
  for (size_t i = 0; i < data.columns().size(); ++i) {
    const InputSpec &spec = data.columns()[i].spec();
    if (spec.isLabel && spec.key == scores.labels)
      return i;
    if (spec.isLabel)
      all.push_back(i);
  }
  if (all.size() == 1)
    return all[0];
  return corrupt("the model has no labels '{}' for output '{}'", scores.labels,
                 scores.output);
}

Status toDoubles(const std::vector<std::byte> &raw, DType type,
                 std::vector<double> &numbers) {
  const ConvertFunction convert = converter(type, DType::F64, false);
  if (!convert)
    return failed("labels of type {}, expected numbers", nameOf(type));
  numbers.resize(raw.size() / sizeOf(type));
  convert(raw.data(), reinterpret_cast<std::byte *>(numbers.data()),
          numbers.size(), 1);
  return {};
}

} // namespace

Result<Judge> Judge::create(Session &session,
                            const std::vector<std::string> &names,
                            const Sources &sources,
                            const SampleOptions &options) try {
  DLC_ASSIGN(std::vector<Metric> metrics, parseMetrics(names));
  DLC_ASSIGN(Scores scores, readScores(session.model().artifact));
  for (const Metric &metric : metrics)
    DLC_TRY(checkFits(metric, scores));
  DLC_ASSIGN(SizedData inputs,
             openDatasets(sources, session.plan(), "predict", options));
  DLC_ASSIGN(SizedData labels,
             openDatasets(sources, session.plan(), "eval_step", options));
  if (inputs.sets.size() != 1 || labels.sets.size() != 1)
    return usageError("they need samples of one length, found {}: evaluate "
                      "each length by dlc eval",
                      std::max(inputs.sets.size(), labels.sets.size()));
  DLC_ASSIGN(scores, readScores(session.model().artifact, inputs.sizes[0]));
  Judge judge(session, std::move(scores), std::move(metrics),
              std::move(inputs.sets[0]), std::move(labels.sets[0]));
  for (const Metric &metric : judge.metrics_)
    addNeeds(metric, judge.needs_);
  DLC_ASSIGN(judge.column_, findLabels(judge.labels_, judge.scores_));
  const Column &column = judge.column();
  const auto expected =
      uint64_t(judge.scores_.task == Task::Classes ? judge.scores_.rows()
                                                   : judge.scores_.elements());
  if (column.sampleBytes() != expected * sizeOf(column.spec().dtype))
    return corrupt("labels '{}' have {} bytes a sample, expected {} numbers",
                   column.spec().key, column.sampleBytes(), expected);
  judge.raw_.resize(column.sampleBytes());
  DLC_TRY(column.copySample(0, nullptr, judge.raw_.data()));
  DLC_TRY(toDoubles(judge.raw_, column.spec().dtype, judge.first_));
  return judge;
} catch (...) {
  return caughtException("metrics");
}

Status Judge::addSample(Tally &tally, int64_t batch, int64_t sample,
                        std::span<const float> out) {
  const DType type = column().spec().dtype;
  DLC_TRY(column().copySample(sample, nullptr, raw_.data()));
  if (scores_.task == Task::Classes) {
    classes_.resize(raw_.size() / sizeOf(type));
    for (size_t i = 0; i < classes_.size(); ++i)
      classes_[i] = integerAt(raw_.data(), type, i);
    return tally.addClasses(sample, batch, out, classes_);
  }
  DLC_TRY(toDoubles(raw_, type, numbers_));
  if (scores_.task == Task::Values)
    tally.addValues(batch, out, numbers_, first_);
  else
    tally.addBinary(sample, out, numbers_);
  return {};
}

Status Judge::addBatch(Tally &tally, int64_t batch, int64_t first,
                       int64_t count, const TensorView &view) {
  const auto elements = size_t(scores_.elements());
  std::vector<std::byte> room;
  const float *numbers = floatsOf(view, elements * size_t(count), room);
  for (int64_t i = 0; i < count; ++i)
    DLC_TRY(addSample(tally, batch, first + i,
                      {numbers + size_t(i) * elements, elements}));
  return {};
}

std::string classesJson(const Judgement &judgement, int64_t epoch,
                        int64_t step) {
  nlohmann::ordered_json json = {{"epoch", epoch}, {"step", step}};
  for (size_t i = 0; i < judgement.classes.columns.size(); ++i)
    for (const auto &row : judgement.classes.rows)
      json["classes"][judgement.classes.columns[i]].push_back(row[i]);
  if (!judgement.confusion.empty())
    json["confusion"] = judgement.confusion;
  return json.size() > 2 ? dumpJson(json) : "";
}

Result<Judgement> Judge::judge() try {
  Communicator *communicator = session_->communicator();
  const int rank = communicator ? communicator->rank() : 0;
  const int ranks = communicator ? communicator->size() : 1;
  const auto parts = session_->partsFor("predict", inputs_);
  const int64_t most = parts.front().batch, samples = inputs_.samples();
  DLC_ASSIGN(Tally tally, Tally::create(scores_, needs_, samples,
                                        (samples + most - 1) / most));
  int64_t batch = rank;
  const auto add = [&](int64_t count, const BatchSweep::Part &,
                       std::span<const TensorView> outputs) -> Status {
    const TensorView &view = outputs[size_t(scores_.port)];
    DLC_TRY(addBatch(tally, batch, batch * most, count, view));
    batch += ranks;
    return session_->checkGoesOn();
  };
  DLC_TRY(
      BatchSweep(session_->executor(), parts, inputs_).run(rank, ranks, add));
  DLC_TRY(tally.combine(communicator));
  Judgement judgement;
  for (const Metric &metric : metrics_)
    if (isNumber(metric))
      judgement.values.emplace_back(metric.name,
                                    valueOf(metric, tally, needs_));
  judgement.classes = classTable(metrics_, tally);
  judgement.isBinned = needs_.order && tally.isBinned();
  if (needs_.matrix && scores_.task == Task::Binary) {
    const ClassCounts n = tally.countsOf(0);
    judgement.confusion = {{int64_t(n.tn), int64_t(n.fp)},
                           {int64_t(n.fn), int64_t(n.tp)}};
  }
  if (needs_.matrix && scores_.task == Task::Classes) {
    const auto width = size_t(scores_.classes);
    for (size_t c = 0; c < width; ++c)
      judgement.confusion.emplace_back(
          tally.matrix().begin() + ptrdiff_t(c * width),
          tally.matrix().begin() + ptrdiff_t((c + 1) * width));
  }
  return judgement;
} catch (...) {
  return caughtException("metrics");
}

} // namespace dlc
