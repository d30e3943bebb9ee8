// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/CurveCanvas.h"

#include "runtime/base/Text.h"

#include <fmt/format.h>

namespace dlc {
namespace {

std::string xmlText(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text))
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

// Colours that eyes tell apart, on light and on dark.
constexpr char kStyle[] = R"(<style>
svg { background: #fff } text { fill: #222 } .head { font-weight: bold } .end { text-anchor: end } .grid { stroke: #8886 }
path { fill: none; stroke-width: 1.8; stroke-linejoin: round } .thin { stroke-width: 1; opacity: .35 }
.c0 { stroke: #0072b2 } .c1 { stroke: #d55e00 } .c2 { stroke: #009e73 } .c3 { stroke: #cc79a7 }
.dot0 { fill: #0072b2 } .dot1 { fill: #d55e00 } .dot2 { fill: #009e73 } .dot3 { fill: #cc79a7 }
@media (prefers-color-scheme: dark) { svg { background: #1b1b1b } text { fill: #ddd } .c0 { stroke: #56b4e9 } .dot0 { fill: #56b4e9 } }
</style>
)";

} // namespace

void SvgCanvas::text(CanvasPoint at, std::string_view text,
                     const CanvasText &style) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"", at.x, at.y);
  if (style.isHead || style.isEnd)
    body_ += style.isHead ? " class=\"head\"" : " class=\"end\"";
  if (style.size != CanvasText().size)
    body_ += fmt::format(" font-size=\"{}\"", style.size);
  body_ += fmt::format(">{}</text>\n", xmlText(text));
}

void SvgCanvas::grid(CanvasPoint from, double toX) {
  body_ += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" "
                       "y2=\"{2:.1f}\" class=\"grid\"/>\n",
                       from.x, toX, from.y);
}

void SvgCanvas::dot(CanvasPoint at, double radius, size_t colour) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" "
                       "class=\"dot{}\"/>\n",
                       at.x, at.y, radius, colour % 4);
}

void SvgCanvas::path(const std::vector<std::vector<CanvasPoint>> &lines,
                     bool isThin, size_t colour) {
  std::string places;
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      places +=
          fmt::format("{}{:.1f} {:.1f}", i ? "L" : "M", line[i].x, line[i].y);
  body_ += fmt::format("<path d=\"{}\" class=\"{} c{}\"/>\n", places,
                       isThin ? "thin" : "line", colour % 4);
}

std::string SvgCanvas::file(std::string_view title, double width,
                            double height) const {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
                     "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family="
                     "\"sans-serif\" font-size=\"12\" role=\"img\">\n"
                     "<title>{2}</title>\n{3}{4}</svg>\n",
                     width, height, xmlText(title), kStyle, body_);
}

} // namespace dlc
