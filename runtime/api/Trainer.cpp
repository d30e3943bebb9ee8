// SPDX-License-Identifier: Apache-2.0
// Training runs of the C interface.
#include "runtime/train/Trainer.h"
#include "runtime/api/Options.h"

#include <unistd.h>

using namespace dlc;
using namespace dlc::api;

struct dlc_trainer {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Trainer> trainer;
  std::string folder;
  // A process forked from this one has neither its threads nor its lock.
  const pid_t process = ::getpid();

  bool isForked() const { return process != ::getpid(); }
};

namespace {

using Names = std::vector<const char *>;

int callStep(const dlc_callbacks &calls, const StepEvent &event) {
  Names names;
  for (const std::string &name : event.names)
    names.push_back(name.c_str());
  const dlc_step step{sizeof(dlc_step), event.step,
                      event.total,      event.epoch,
                      names.data(),     event.values.data(),
                      names.size(),     event.samplesPerSecond};
  return calls.step(calls.user, &step);
}

int callEpoch(const dlc_callbacks &calls, const EpochEvent &event) {
  Names names;
  std::vector<double> values;
  for (const auto &[name, value] : event.values) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  const dlc_epoch epoch{sizeof(dlc_epoch), event.epoch,   event.step,
                        names.data(),      values.data(), names.size()};
  return calls.epoch(calls.user, &epoch);
}

TrainHooks hooksOf(const dlc_dataset *train, const dlc_dataset *val,
                   const dlc_callbacks &calls) {
  TrainHooks hooks;
  if (train)
    hooks.data = train->source;
  if (val)
    hooks.val = val->source;
  if (calls.step)
    hooks.onStep = [calls](const StepEvent &event) {
      return callStep(calls, event) == 0;
    };
  if (calls.epoch)
    hooks.onEpoch = [calls](const EpochEvent &event) {
      return callEpoch(calls, event) == 0;
    };
  return hooks;
}

Status checkPlaces(const TrainOptions &o, bool hasData) {
  if (!o.resume.empty())
    return o.artifact.empty()
               ? Status()
               : usageError(
                     "a resumed run has its own model, found '{}': pass null",
                     o.artifact);
  if (o.artifact.empty())
    return usageError("expected a model, or a run by the option 'resume'");
  return hasData || !o.data.empty() || !o.dataCommand.empty()
             ? Status()
             : usageError("expected samples to train on: a data set, or the "
                          "option 'data'");
}

// The run defines the preprocessing: a data set's own options must be the same.
Status checkSamples(const dlc_dataset *data, const SampleOptions &run) {
  if (!data)
    return {};
  DLC_ASSIGN(const SampleOptions own, withOptions(run, data->options));
  if (textOf(own) == textOf(run))
    return {};
  return usageError("'{}' was opened with options that make other samples than "
                    "the run has: '{}', expected '{}'",
                    data->source->name(), textOf(own), textOf(run));
}

// Applies options of the run and of its training data.
Result<OptionTable::Given> applyAll(OptionTable &table,
                                    const dlc_dataset *train,
                                    std::span<const dlc_option> own) {
  std::vector<dlc_option> all;
  if (train)
    all = given(train->options);
  for (const dlc_option &option : own) {
    for (const dlc_option &other : all)
      if (text(option.name) == other.name)
        return usageError("option '{}' is given to the data set and to the "
                          "trainer, expected one",
                          other.name);
  }
  all.insert(all.end(), own.begin(), own.end());
  return apply(table, all.data(), all.size());
}

struct GivenData {
  const dlc_dataset *train = nullptr, *val = nullptr;
};

// Options of the run; those given in other ways are not required.
Result<TrainOptions> optionsOf(const std::string &model, TrainHooks &hooks,
                               const GivenData &data, LaunchFlags &launch,
                               std::span<const dlc_option> given) {
  TrainOptions options;
  hooks.signals = false;
  OptionTable table;
  addTrainerRows(table, options, launch, hooks.signals);
  const bool resumes = std::ranges::any_of(given, [](const dlc_option &option) {
    return text(option.name) == "resume";
  });
  DLC_ASSIGN(options.given,
             applyAll(table, resumes ? nullptr : data.train, given));
  options.artifact = model;
  DLC_TRY(checkPlaces(options, hooks.data != nullptr));
  if (resumes) {
    DLC_TRY(checkResume(options, table));
    DLC_ASSIGN(options, resumeOptions(options));
    options.artifact = options.resume + "/model.dlc";
    DLC_TRY(checkSamples(data.train, options.samples));
  }
  DLC_TRY(checkSamples(data.val, options.samples));
  return options;
}

Status open(dlc_trainer &made, TrainOptions options, const TrainHooks &hooks,
            const LaunchFlags &flags) {
  DLC_ASSIGN(const Launch launch,
             findLaunch(flags, std::chrono::milliseconds(
                                   int64_t(options.timeout * 1000))));
  DLC_ASSIGN(made.communicator, joinJob(launch));
  if (options.threads == 0)
    options.threads = threadsOfRank(launch);
  DLC_ASSIGN(made.trainer, Trainer::create(options, *made.communicator, hooks));
  return {};
}

Status run(dlc_trainer &trainer, dlc_run *result) {
  constexpr size_t kLeast = offsetof(dlc_run, signal) + sizeof(dlc_run::signal);
  if (result)
    DLC_TRY(expectSize(result, kLeast, sizeof(*result), false, "dlc_run"));
  if (trainer.isForked())
    return usageError("the trainer belongs to the process that opened it: "
                      "open one after the fork");
  if (!trainer.trainer)
    return usageError("a trainer runs once: open another one with the option "
                      "'resume'");
  // Destroys the run, so that its folder can be resumed.
  const auto communicator = std::move(trainer.communicator);
  const auto once = std::move(trainer.trainer);
  DLC_ASSIGN(TrainResult found, once->run());
  trainer.folder = std::move(found.run);
  if (result)
    fill(result,
         {0, trainer.folder.c_str(), found.steps, found.stopped, found.signal});
  return {};
}

} // namespace

dlc_code dlc_trainer_open(const char *model, const dlc_dataset *train,
                          const dlc_dataset *val, const dlc_option *options,
                          size_t count, const dlc_callbacks *callbacks,
                          dlc_trainer **made) {
  const AllGiven all = {{options, count, "the list of options"},
                        {made, "the place for the trainer"}};
  return call("a trainer", all, [&]() -> Status {
    constexpr size_t kLeast =
        offsetof(dlc_callbacks, epoch) + sizeof(dlc_callbacks::epoch);
    dlc_callbacks calls = {};
    if (callbacks) {
      DLC_ASSIGN(calls, taken(callbacks, kLeast, "dlc_callbacks"));
    }
    TrainHooks hooks = hooksOf(train, val, calls);
    LaunchFlags launch;
    DLC_ASSIGN(TrainOptions chosen, optionsOf(text(model), hooks, {train, val},
                                              launch, {options, count}));
    auto trainer = std::make_unique<dlc_trainer>();
    DLC_TRY(open(*trainer, std::move(chosen), hooks, launch));
    *made = trainer.release();
    return {};
  });
}

dlc_code dlc_trainer_run(dlc_trainer *trainer, dlc_run *result) {
  return call("training", {{trainer, "the trainer"}},
              [&] { return run(*trainer, result); });
}

void dlc_trainer_close(dlc_trainer *trainer) {
  if (trainer && !trainer->isForked())
    delete trainer;
}
