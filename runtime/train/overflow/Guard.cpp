// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/Guard.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/arrays/Advice.h"
#include "runtime/plan/Types.h"
#include "runtime/train/overflow/Overflow.h"
#include "runtime/train/overflow/Replay.h"

#include <cmath>

namespace dlc {

// Whether to restore the state before a step that is repeated. For the start of
// a window, when accumulators are zero.
static bool isKept(const std::string &role, bool repeatsAll) {
  if (role == "const" || role == "accumulator")
    return false;
  return repeatsAll || (role != "param" && role != "moment" && role != "ema");
}

Guard::Guard(const Run &run)
    : run_(run), maySkip_(run.setup.reports("found_inf")) {
  for (const plan::State &state : run.setup.session->plan().states())
    if (isKept(state.role(), run.setup.options.debugOverflow))
      before_[state.name()].resize(plan::bytesOf(state.type()).value_or(0));
}

bool Guard::isDecisive(int64_t unread) const {
  const TrainOptions &options = run_.setup.options;
  return options.debugOverflow ||
         (maySkip_ && skips_ + unread + 1 >= options.maxSkips);
}

Status Guard::keepState() {
  for (auto &[name, bytes] : before_)
    DLC_TRY(run_.setup.session->executor().readState(name, bytes.data(),
                                                     bytes.size()));
  return {};
}

Status Guard::check(const StepReport &report) {
  const RunSetup &setup = run_.setup;
  const double loss = setup.metric(report.values, "loss");
  const bool skipped = setup.metric(report.values, "found_inf") > 0;
  if (!skipped && std::isfinite(loss)) {
    skips_ = 0;
    return {};
  }
  const bool ends = !skipped || ++skips_ >= setup.options.maxSkips;
  if (!ends && !setup.options.debugOverflow)
    return {};
  run_.recorders.tell(&Recorder::onPause);
  return examine(
      {report, skipped, ends,
       skipped ? fmt::format("step {} was skipped, the {}. in a row",
                             report.step, skips_)
               : fmt::format("the loss is {} at step {}",
                             std::isnan(loss) ? NAN : loss, report.step)});
}

// Writes a replay if the run ends, and locates the overflow if requested.
Status Guard::examine(const Bad &bad) {
  const RunSetup &setup = run_.setup;
  const int64_t step = bad.report.step;
  Incident incident{step,
                    setup.options.threads,
                    setup.ranks.size(),
                    int(setup.group),
                    setup.infiniteSteps.count(step) > 0,
                    0,
                    bad.text,
                    metricTexts(*setup.session, bad.report.values)};
  DLC_TRY(goBack(bad));
  DLC_ASSIGN(const RunSetup::Window window, setup.windowOf(step));
  incident.size = window.size;
  const std::string bundle =
      fmt::format("{}/replay-{}", run_.folder.path(), step);
  Status kept;
  if (bad.ends)
    kept = writeBundle(bundle, *setup.session, setup.ranks, window.batches,
                       incident);
  if (kept.code() == Code::PeerLost)
    return kept;
  if (setup.options.debugOverflow) {
    DLC_ASSIGN(const std::string place,
               findOverflow(*setup.session, setup.ranks, window.batches,
                            window.size, setup.injects(step)));
    setup.warnOnce("{}: {}", bad.text,
                   place.empty() ? "all values are finite" : place);
  }
  if (!bad.ends)
    return {};
  setup.ranks.agreeToEnd(); // the loss is the same on all ranks
  const std::string replay =
      kept.ok() ? fmt::format(
                      "dlc debug replay {} repeats the step and names the node",
                      shellQuoted(bundle))
                : fmt::format("it cannot be replayed ({})", kept.message());
  for (const Dataset &data : setup.data.sets)
    if (const std::string rows = notFinite(data); !rows.empty())
      return diverged("{}: the data has numbers that are not finite: '{}': {}; "
                      "replace them, or leave these rows out; {}",
                      bad.text, data.path(), rows, replay);
  return diverged("{}: training diverged; the last checkpoint in '{}' precedes "
                  "this step; {}; try a lower learning rate or --clip-grad",
                  bad.text, run_.folder.path(), replay);
}

// Restores the state before the step, discarding later steps.
Status Guard::goBack(const Bad &bad) {
  RunSetup &setup = run_.setup;
  Progress &progress = run_.progress;
  const int64_t step = bad.report.step;
  DLC_TRY(run_.steps.discard());
  if (bad.skipped || setup.options.debugOverflow) // the step was decisive
    return restoreStates(setup.session->executor(), before_);
  DLC_TRY(run_.checkpointing.restore(progress));
  if (progress.step + 1 < step)
    setup.tellOnce("repeating steps {} to {} to save the state before step {}",
                   progress.step + 1, step - 1, step);
  Loader loader(setup.data.sets, setup.sampling, progress.step, step - 1);
  while (progress.step + 1 < step) {
    DLC_TRY(run_.steps.start(loader));
    DLC_TRY(run_.steps.discard());
  }
  progress.step = step;
  return {};
}

} // namespace dlc
