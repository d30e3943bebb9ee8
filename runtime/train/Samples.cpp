// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Samples.h"

#include "runtime/base/options/OptionTable.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/stream/SampleStream.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

bool isStreamed(const TrainOptions &o) {
  return !o.dataCommand.empty() || o.data == kStandardInput;
}

// Code::Usage for options that need random access, or pictures.
Status checkStreamed(const TrainOptions &o, int world) {
  if (!o.dataCommand.empty() && !o.data.empty())
    return usageError("--data and --data-command are both given, expected one");
  if (o.dataCommand.empty() && world > 1)
    return usageError("--data=- is for one rank, found {}: give "
                      "--data-command, which each rank starts",
                      world);
  const char *why = "samples of another program have a fixed order";
  if (o.shuffle && isGiven(o.given, "run.shuffle"))
    return usageError("--shuffle=on: {}", why);
  if (!o.samples.pads.empty())
    return usageError("--pad: samples of another program have one length");
  if (o.samples.mixes())
    return usageError("--mixup and --cutmix: {}", why);
  if (o.samples.changesPictures(true))
    return usageError("samples of another program are augmented there, not by "
                      "flags ({})",
                      textOf(o.samples));
  return {};
}

} // namespace

Result<Judge::Sources> openSamples(const TrainOptions &options,
                                   const TrainHooks &hooks,
                                   const Communicator &ranks) {
  if (hooks.data)
    return Judge::Sources{hooks.data};
  if (!isStreamed(options))
    return openSources(options.data, options.samples);
  DLC_TRY(checkStreamed(options, ranks.size()));
  DLC_ASSIGN(auto stream, openStream({options.dataCommand,
                                      std::chrono::milliseconds(
                                          int64_t(options.dataTimeout * 1000)),
                                      ranks.rank(), ranks.size()}));
  return Judge::Sources{std::move(stream)};
}

Result<Judge::Sources> openValidationSamples(const TrainOptions &options,
                                             const TrainHooks &hooks) {
  if (hooks.val)
    return Judge::Sources{hooks.val};
  if (options.val.empty())
    return Judge::Sources{};
  return openSources(options.val, options.samples);
}

Status checkEnd(const TrainOptions &options, const SizedData &data) {
  if (data.samples() != kEndlessSamples || options.steps > 0)
    return {};
  return usageError("the header of '{}' does not say how many samples there "
                    "are: expected --steps=N",
                    data.sets[0].path());
}

std::string adviceOnWaiting(const Dataset &data, double share, int ranks) {
  if (data.source().isStream())
    return "the program writes them too slowly";
  if (!data.source().isSlow())
    return "the samples' files are read too slowly";
  const int workers = data.workers();
  const int wanted =
      std::max(workers + 1, int(std::ceil(workers / (1.01 - share))));
  const int most = std::max(1, coresOfProcess() / ranks);
  if (workers >= most)
    return fmt::format(
        "{} workers use all cores: smaller pictures decode faster", workers);
  return fmt::format("try --workers={}", std::min(wanted, most));
}

} // namespace dlc
