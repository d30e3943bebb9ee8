// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/inspect/PlanPicture.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <vector>

namespace dlc::tool {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr double kLeft = 60, kTop = 20, kWidth = 560, kHeight = 300;
// Colour-blind safe colours, for light and dark backgrounds.
constexpr const char *kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

struct Scale {
  double most; // largest number of ranks

  double x(double ranks) const {
    return kLeft + kWidth * std::log2(ranks) / std::max(1.0, std::log2(most));
  }
  double y(double efficiency) const {
    return kTop + kHeight * (1 - efficiency);
  }
};

std::string axes(const Scale &scale, const Ordered &rows) {
  std::string text;
  for (int percent = 0; percent <= 100; percent += 20)
    text +=
        fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
                    "class=\"grid\"/><text x=\"{3}\" y=\"{4:.1f}\" "
                    "text-anchor=\"end\">{5} %</text>\n",
                    kLeft, kLeft + kWidth, scale.y(percent / 100.0), kLeft - 8,
                    scale.y(percent / 100.0) + 4, percent);
  int64_t last = 0;
  for (const Ordered &row : rows)
    if (const auto ranks = row["ranks"].get<int64_t>(); ranks != last) {
      last = ranks;
      text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" "
                          "text-anchor=\"middle\">{}</text>\n",
                          scale.x(static_cast<double>(ranks)),
                          kTop + kHeight + 18, ranks);
    }
  return text;
}

} // namespace

std::string efficiencyPicture(const Ordered &rows) {
  Scale scale{1};
  std::vector<std::string> modes;
  std::map<std::string, std::string> points;
  for (const Ordered &row : rows)
    scale.most = std::max(scale.most, row["ranks"].get<double>());
  for (const Ordered &row : rows) {
    const auto mode = row["mode"].get<std::string>();
    if (!points.contains(mode))
      modes.push_back(mode);
    points[mode] +=
        fmt::format("{:.1f},{:.1f} ", scale.x(row["ranks"].get<double>()),
                    scale.y(row["efficiency"].get<double>()));
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 370\" "
      "font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
      "<title>predicted efficiency by number of ranks</title>\n"
      "<style>text {{ fill: #222 }} .grid {{ stroke: #8886 }} svg {{ "
      "background: #fff }}\n@media (prefers-color-scheme: dark) {{ text {{ "
      "fill: #ddd }} svg {{ background: #1b1b1b }} }}</style>\n{}"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">ranks; a "
      "prediction</text>\n",
      axes(scale, rows), kLeft + kWidth / 2, kTop + kHeight + 38);
  for (size_t i = 0; i < modes.size(); ++i)
    text += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
                        "stroke-width=\"2\"/>\n<text x=\"{}\" y=\"{}\" "
                        "style=\"fill: {}\">{}</text>\n",
                        points[modes[i]], kColours[i % 4], kLeft + kWidth + 12,
                        kTop + 14 + 20 * static_cast<double>(i),
                        kColours[i % 4], modes[i]);
  return text + "</svg>\n";
}

} // namespace dlc::tool
