// SPDX-License-Identifier: Apache-2.0
// Loads the model and the samples of a run.
#include "runtime/train/setup/RunSetup.h"

#include "runtime/base/files/Safetensors.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/Hosts.h"
#include "runtime/data/lengths/Joined.h"
#include "runtime/device/TuneChoices.h"
#include "runtime/plan/Averages.h"
#include "runtime/plan/parts/RankItems.h"
#include "runtime/train/Samples.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace dlc {

static constexpr int64_t kDefaultEpochs = 10;

static std::string artifactPath(const TrainOptions &options) {
  return options.resume.empty() ? options.artifact
                                : options.resume + "/model.dlc";
}

// A new run must have the number of ranks that the model was compiled for, so
// that its length and averages are as requested, unless any number is allowed.
Status RunSetup::checkNumberOfRanks(const plan::Plan &plan) const {
  const auto found = uint32_t(ranks.size());
  const std::string given =
      options.zeroGroup < 0 ? "host" : std::to_string(options.zeroGroup);
  DLC_TRY(plan::checkGroup(plan, artifactPath(options), given, group,
                           ranks.size()));
  if (!options.resume.empty() || options.anyRanks || plan.world_size() == found)
    return {};
  return wrongNumberOfRanks(plan.world_size(), found);
}

// Collective.
Status RunSetup::findGroup() {
  group = options.zeroGroup;
  if (group >= 0)
    return {};
  DLC_ASSIGN(const auto hosts, ranks.allGather(hostName()));
  DLC_ASSIGN(group, ranksOfEachHost(hosts).withContext("--zero-group=host"));
  tellOnce("--zero-group=host: groups of {} of {} ranks", group, ranks.size());
  return {};
}

// Warns about rows of dlc-data pack if the model was compiled without --pack
// and would treat all documents of a row as one.
static void warnOfDocuments(const TrainOptions &options,
                            const plan::Plan &plan) {
  const std::string &path = options.data;
  const bool packs =
      std::ranges::any_of(plan.schedule(), [](const auto &option) {
        return option.name() == "pack";
      });
  if (packs)
    return;
  bool isPacked = options.samples.pack > 0;
  if (path.ends_with(".safetensors"))
    if (const auto file = SafetensorsFile::open(path, true); file.ok())
      isPacked = file->metadata().count("packed") > 0;
  if (isPacked)
    warning("'{}' holds several documents a row, and the model was compiled "
            "without --pack: unless it looks for documents in position_ids "
            "itself, its attention sees all of a row; compile with --pack",
            path);
}

// Files of a resumed run may have moved since it began; patterns are not
// checked.
static Status expectThere(const TrainOptions &o, const std::string &key,
                          const std::string &list) {
  if (o.resume.empty() || isGiven(o.given, key) || list == kStandardInput)
    return {};
  for (const std::string &path : pathsIn(list))
    if (!path.empty() && path.find('{') == path.npos && !exists(path))
      return failed("run '{}' reads '{}', which does not exist: --{}=PATH says "
                    "where it is now",
                    o.resume, path, key.substr(key.find('.') + 1));
  return {};
}

// Loads model and samples before anything is written.
Status RunSetup::loadData() {
  if (!hooks.data)
    DLC_TRY(expectThere(options, "run.data", options.data));
  if (!hooks.val)
    DLC_TRY(expectThere(options, "run.val", options.val));
  DLC_ASSIGN(Artifact artifact, Artifact::open(artifactPath(options)));
  if (!findProgram(artifact.plan(), "train_step"))
    return failed("'{}' has no training program: it was compiled with "
                  "--predict-only",
                  artifactPath(options));
  const plan::Plan &plan = artifact.plan();
  DLC_TRY(checkNumberOfRanks(plan));
  DLC_ASSIGN(sources, openSamples(options, hooks, ranks));
  DLC_ASSIGN(data, openDatasets(sources, plan, "train_step", options.samples,
                                options.batch));
  if (options.samples.classes.empty()) // validation data has the same numbers
    options.samples.classes = data.sets[0].source().classes();
  if (isRoot())
    warnOfDocuments(options, plan);
  DLC_TRY(settleSampling(plan));
  DLC_TRY(checkPaddedLabels(artifact));
  DLC_ASSIGN(const Judge::Sources toJudge,
             openValidationSamples(options, hooks));
  if (!toJudge.empty()) {
    DLC_ASSIGN(val, openDatasets(toJudge, plan, "eval_step", options.samples));
  }
  for (SizedData *sized : {&data, &val})
    for (Dataset &set : sized->sets)
      set.setWorkers(options.workers, ranks.size());
  DLC_ASSIGN(dataHash, hashOf(sources, options.threads));
  options.tune.choices = std::make_shared<TuneChoices>();
  std::string state = artifact.statePath();
  DLC_ASSIGN(session,
             Session::create({std::move(artifact), {}, std::move(state)},
                             {.threads = options.threads,
                              .communicator = &ranks,
                              .record = !options.noGraph,
                              .timeout = std::chrono::milliseconds(
                                  int64_t(options.timeout * 1000)),
                              .tune = options.tune,
                              .group = int(group)}));
  return openValidation(toJudge);
}

std::string nameOfData(const RunSetup &setup) {
  const TrainOptions &options = setup.options;
  return options.data.empty() ? setup.data.sets[0].path() : options.data;
}

// Determines how samples form steps of one batch size.
Status RunSetup::settleSampling(const plan::Plan &plan) {
  sampling = {.batch = plan::batchOf(plan, data.sizes[0]),
              .window = std::max<int64_t>(1, plan.accumulate()),
              .rank = ranks.rank(),
              .world = ranks.size(),
              .shuffle = options.shuffle,
              .seed = options.seed,
              .pads = plan::padsLast(plan)};
  if (sampling.pads &&
      (data.sets.size() > 1 || data.sets[0].source().isStream()))
    return usageError("the model was compiled with --last-batch=pad, which is "
                      "for samples of one length in files: '{}' has {}",
                      nameOfData(*this),
                      data.sets.size() > 1 ? "several lengths"
                                           : "them of another program");
  DLC_TRY(checkSizes(plan));
  const int64_t least = sampling.samplesOfUpdate();
  const std::vector<int64_t> counts = countsOf(data.sets);
  if (sampling.updatesPerEpoch(counts) == 0)
    return failed("'{}' has {} samples, expected at least {}: one step of {} "
                  "on {}",
                  nameOfData(*this), data.samples(), least, batchText(sampling),
                  ranksText(sampling));
  for (const Dataset &set : data.sets)
    if (set.samples() < least)
      warnOnce(
          "'{}' has {} samples of its length, fewer than the {} of a step: "
          "they are not used",
          set.path(), set.samples(), least);
  Sampling compiled = sampling;
  compiled.world = int(plan.world_size());
  stepsPerEpoch = compiled.updatesPerEpoch(counts);
  return {};
}

Status RunSetup::checkSizes(const plan::Plan &plan) const {
  for (const int size : data.sizes)
    if (plan::batchOf(plan, size) != sampling.batch)
      return usageError("samples of several lengths are trained in batches of "
                        "{} ({}) and of {} ({}): expected one, see --batch",
                        sampling.batch, plan::nameOf(plan.sizes(data.sizes[0])),
                        plan::batchOf(plan, size),
                        plan::nameOf(plan.sizes(size)));
  return {};
}

// Padding of labels must be ignored by the loss.
Status RunSetup::checkPaddedLabels(const Artifact &artifact) const {
  for (const auto &[key, value] : data.paddedLabels) {
    const auto scores = readScores(artifact);
    const bool isKnown =
        scores.ok() && scores->task == Task::Classes &&
        (data.paddedLabels.size() == 1 || scores->labels == key);
    if (isKnown && scores->ignored != int64_t(value))
      return usageError(
          "--pad={}:{}: the loss counts these labels{}: compile the model with "
          "--ignore-index={}",
          key, numberText(value),
          scores->ignored ? fmt::format(", it ignores {}", *scores->ignored)
                          : "",
          numberText(value));
    if (!isKnown)
      warnOnce("--pad={}:{}: the loss may count labels of padding", key,
               numberText(value));
  }
  return {};
}

static bool looksForBest(const TrainOptions &options) {
  return !options.best.empty() || options.patience > 0;
}

// The requested metrics, and the one for --best.
Result<std::vector<std::string>> RunSetup::metricsToJudge() {
  std::vector<std::string> names = options.metrics;
  if (!looksForBest(options))
    return names;
  DLC_ASSIGN(bestBy, parseBest(options.best.empty() ? "loss" : options.best));
  const plan::Program *eval = findProgram(session->plan(), "eval_step");
  const bool isKnown =
      bestBy->metric == "loss" ||
      (bestBy->metric == "accuracy" && findOutput(*eval, "row_correct") >= 0);
  if (!isKnown)
    names.push_back(bestBy->metric);
  const std::string set = bestBy->key.substr(0, bestBy->key.find('_'));
  bool exists = set == "val";
  for (int i = 1; i <= plan::countAverages(session->plan()); ++i)
    exists |= set == plan::averagesName(i);
  if (!exists)
    return usageError("--best={}: the model has no averages '{}'", options.best,
                      set);
  return names;
}

// Selects metrics of validations and the one for --best, so that errors occur
// before the first step.
Status RunSetup::openValidation(const Judge::Sources &toJudge) {
  if (toJudge.empty() && (looksForBest(options) || !options.metrics.empty()))
    return usageError("--metrics, --best and --patience need validations: "
                      "expected --val=FILE");
  DLC_ASSIGN(const std::vector<std::string> names, metricsToJudge());
  if (names.empty())
    return {};
  DLC_ASSIGN(judge, Judge::create(*session, names, toJudge, options.samples)
                        .withContext("--metrics"));
  return {};
}

// Determines the number of steps, and stores values of defaults.
Status RunSetup::settleLength() {
  if (options.steps == 0 && options.epochs == 0)
    options.steps = session->plan().schedule_steps();
  DLC_TRY(checkEnd(options, data));
  if (options.steps == 0 && options.epochs == 0)
    options.epochs = kDefaultEpochs;
  const auto steps = checkedMul(uint64_t(options.epochs),
                                uint64_t(std::max<int64_t>(1, stepsPerEpoch)));
  if (!steps || *steps > std::numeric_limits<int64_t>::max())
    return usageError("{} epochs of {} steps are more than can be counted",
                      options.epochs, stepsPerEpoch);
  total = options.steps > 0 ? options.steps : int64_t(*steps);
  return {};
}

} // namespace dlc
