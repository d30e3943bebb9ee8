#include "compiler/import/Decisions.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <map>

namespace dlc::import {

DecisionReport report(const std::vector<Decision> &decisions) {
  constexpr size_t kNamed = 3;
  std::map<std::string, int> counts;
  std::vector<std::string> warned;
  for (const Decision &decision : decisions) {
    ++counts[decision.kind];
    if (decision.warn)
      warned.push_back(printable(decision.tensor));
  }
  std::string kinds;
  for (const auto &[kind, count] : counts)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
  DecisionReport report;
  if (!counts.empty())
    report.summary =
        fmt::format("the exporter merged or folded tensors: {} (dlc inspect "
                    "says which and why)",
                    kinds);
  if (warned.empty())
    return report;
  size_t shown = std::min(warned.size(), kNamed);
  report.warning = fmt::format(
      "the exporter folded functions of parameters that cannot be undone; what "
      "they gave trains as it is: '{}'",
      fmt::join(warned.begin(), warned.begin() + std::ptrdiff_t(shown),
                "', '"));
  if (shown < warned.size())
    report.warning += fmt::format(" and {} more", warned.size() - shown);
  report.warning += ". To train the parameters, export with "
                    "torch.onnx.export(..., dynamo=True, optimize=False)";
  return report;
}

} // namespace dlc::import
