// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Restart.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/plan/Artifact.h"
#include "runtime/train/Agree.h"

#include <algorithm>

namespace dlc {
namespace {

// Options that would change the run.
constexpr const char *kSame[] = {"run.seed", "run.shuffle", "run.scale"};

Status checkSame(const TrainOptions &options) {
  DLC_ASSIGN(TrainOptions kept, optionsFromYaml(options.run + "/config.yaml"));
  TrainOptions given = options;
  OptionTable now, then;
  given.addTo(now);
  kept.addTo(then);
  for (const char *key : kSame)
    if (isGiven(options.given, key) &&
        now.find(key)->yaml() != then.find(key)->yaml())
      return usageError("{} is {}, but the run '{}' was begun with {}: choose "
                        "another --run",
                        now.find(key)->flag, now.find(key)->yaml(), options.run,
                        then.find(key)->yaml());
  return {};
}

} // namespace

Result<bool> hasBegun(const TrainOptions &options) {
  if (!exists(options.run + "/config.yaml"))
    return false;
  DLC_ASSIGN(const Artifact begun, Artifact::open(options.run + "/model.dlc"));
  DLC_ASSIGN(const Artifact artifact, Artifact::open(options.artifact));
  if (begun.hash() == artifact.hash())
    return true;
  return usageError("the run '{}' is of another artifact than '{}': choose "
                    "another --run",
                    options.run, options.artifact);
}

// Options for resuming options.run with a command that begins a run, as by
// resumeOptions(). Code::Usage if they would change the run.
static Result<TrainOptions> restartOptions(const TrainOptions &options) {
  DLC_TRY(checkSame(options));
  TrainOptions restarted = options;
  restarted.resume = options.run;
  std::erase_if(restarted.given, [](const std::string &key) {
    return key == "run.run" || key == "run.artifact" || key == "run.state" ||
           std::ranges::count(kSame, key) > 0;
  });
  DLC_ASSIGN(restarted, resumeOptions(restarted));
  restarted.artifact = restarted.resume + "/model.dlc";
  return restarted;
}

Result<TrainOptions> resumeOrStart(const TrainOptions &options,
                                   Communicator &communicator) {
  Result<bool> begun = false;
  if (communicator.rank() == 0)
    begun = hasBegun(options);
  DLC_TRY(agree(communicator, begun.status()));
  bool goesOn = *begun;
  DLC_TRY(communicator.broadcast(&goesOn, sizeof goesOn, 0));
  if (!goesOn)
    return options;
  Result<TrainOptions> restarted = restartOptions(options);
  DLC_TRY(agree(communicator, restarted.status()));
  return restarted;
}

} // namespace dlc
