// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/nccl/Culprit.h"

#include <algorithm>
#include <charconv>

namespace dlc {

// Fields separated by spaces, as in "0 17 16 3 a collective: ..."
static std::string encode(const Report &report) {
  return fmt::format("{} {} {} {} {}", static_cast<int>(report.kind),
                     report.steps, report.done, report.inputs, report.what);
}

static Report decode(const std::string &text) {
  Report report{Report::Late, 0, 0, 0, ""};
  const char *const end = text.data() + text.size();
  int kind = Report::Late;
  const char *at = std::from_chars(text.data(), end, kind).ptr;
  if (kind == Report::Failed || kind == Report::Told)
    report.kind = static_cast<Report::Kind>(kind);
  for (uint64_t *field : {&report.steps, &report.done, &report.inputs})
    if (at < end)
      at = std::from_chars(at + 1, end, *field).ptr;
  if (at < end)
    report.what.assign(at + 1, end);
  return report;
}

Status findCulprit(Communicator &control, const Report &own) {
  const auto answers = control.allGather(encode(own));
  if (!answers.ok()) // names the rank that is gone or silent
    return peerLost("{} ({})", answers.status().message(), own.what);
  std::vector<Report> reports;
  for (const std::string &answer : *answers)
    reports.push_back(decode(answer));
  for (size_t rank = 0; rank < reports.size(); ++rank)
    if (reports[rank].kind == Report::Failed)
      return Status(
          static_cast<int>(rank) == control.rank() ? Code::Failed
                                                   : Code::PeerLost,
          fmt::format("rank {} failed: {}", rank, reports[rank].what));
  const auto late =
      std::find_if(reports.begin(), reports.end(),
                   [](const Report &r) { return r.kind == Report::Late; });
  const std::string what = late == reports.end() ? own.what : late->what;
  const auto ends = [&](uint64_t Report::*field) {
    return std::minmax_element(reports.begin(), reports.end(),
                               [field](const Report &a, const Report &b) {
                                 return a.*field < b.*field;
                               });
  };
  const auto [fewest, most] = ends(&Report::steps);
  if (fewest->steps <= ends(&Report::done).second->done &&
      fewest->steps < most->steps)
    return peerLost("rank {} is behind: it started {} steps, rank {} {} ({})",
                    fewest - reports.begin(), fewest->steps,
                    most - reports.begin(), most->steps, what);
  // Only if all ranks timed out: after an abort elsewhere a device continues,
  // so its progress says nothing.
  const auto [least, furthest] = ends(&Report::inputs);
  if (least->inputs < furthest->inputs &&
      std::all_of(reports.begin(), reports.end(),
                  [](const Report &r) { return r.kind == Report::Late; }))
    return peerLost("rank {} is behind: its device reached reduction {} of "
                    "step {}, that of rank {} reduction {} ({})",
                    least - reports.begin(), least->inputs, least->steps,
                    furthest - reports.begin(), furthest->inputs, what);
  return peerLost("{}, and all ranks wait for it", what);
}

} // namespace dlc
