#include "runtime/train/record/Curves.h"

#include "runtime/base/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlc {
namespace {

constexpr double kWidth = 460, kHeight = 250, kTop = 44; // of a panel; title
constexpr double kLeft = 62, kRight = 12, kAbove = 28, kBelow = 40;
constexpr size_t kManyPoints = 50;
constexpr double kManyDecades = 50;

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

// 1, 2 or 5 times a power of ten: about four a range.
double stepOf(double range) {
  const double rough = range / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough)
      return factor * power;
  return 10 * power;
}

class PanelPicture {
public:
  PanelPicture(const CurvePanel &panel, double left, double top)
      : panel_(panel), left_(left), top_(top) {
    for (const Curve *curve : panel.curves)
      lines_.push_back(curve->points());
    setRanges();
  }

  static bool hasPoints(const CurvePanel &panel) {
    return std::any_of(
        panel.curves.begin(), panel.curves.end(), [](const Curve *curve) {
          const auto points = curve->points();
          return std::any_of(points.begin(), points.end(), isShown);
        });
  }

  std::string draw() {
    text_ = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"head\">{}{}"
                        "</text>\n",
                        left_ + kLeft, top_ + 18, xmlText(panel_.title),
                        isLog_ ? " (logarithmic)" : "");
    drawAxes();
    for (size_t i = 0; i < lines_.size(); ++i)
      drawLine(lines_[i], i);
    if (panel_.curves.size() > 1)
      drawNames();
    return std::move(text_);
  }

private:
  using Points = std::vector<Curve::Point>;

  static bool isShown(const Curve::Point &p) { return std::isfinite(p.y); }

  void setRanges() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    low_ = first_ = kInfinity, high_ = last_ = -kInfinity;
    for (const Points &line : lines_)
      for (const Curve::Point &p : line)
        if (isShown(p)) {
          low_ = std::min(low_, p.y), high_ = std::max(high_, p.y);
          first_ = std::min(first_, p.x), last_ = std::max(last_, p.x);
        }
    isLog_ = panel_.isNoisy && low_ > 0 && high_ / low_ >= kManyDecades;
    if (isLog_)
      low_ = std::log10(low_), high_ = std::log10(high_);
    // Of numbers that are almost equal, or so large that nothing lies between.
    const double size = std::max(std::abs(low_), std::abs(high_));
    if (!(high_ - low_ > 1e-9 * size)) {
      const double room = size > 0 ? 0.1 * size : 1;
      low_ -= room, high_ += room;
    }
    if (last_ == first_)
      last_ = first_ + 1;
  }

  double x(double value) const {
    return left_ + kLeft +
           (kWidth - kLeft - kRight) * (value - first_) / (last_ - first_);
  }
  double y(double value) const {
    const double at = isLog_ ? std::log10(value) : value;
    return top_ + kHeight - kBelow -
           (kHeight - kAbove - kBelow) * (at / 2 - low_ / 2) /
               (high_ / 2 - low_ / 2);
  }

  // Of a logarithmic axis powers of ten, and between few of them 2 and 5 times
  // these.
  std::vector<double> marks() const {
    constexpr double kRounding = 1e-9;
    std::vector<double> found;
    const double range = high_ - low_;
    const double unit =
        isLog_ ? std::max(1.0, std::round(range / 4)) : stepOf(range);
    const std::vector<double> factors =
        isLog_ && range < 3 ? std::vector{1.0, 2.0, 5.0} : std::vector{1.0};
    for (int i = 0; i < 12; ++i)
      for (const double factor : factors) {
        const double at = (std::floor(low_ / unit) + i) * unit;
        const double mark = isLog_ ? at + std::log10(factor) : at;
        if (mark < low_ - kRounding * range || mark > high_ + kRounding * range)
          continue;
        const bool isZero = std::abs(mark) < kRounding * unit;
        found.push_back(isLog_ ? std::pow(10, mark) : isZero ? 0 : mark);
      }
    return found;
  }

  void drawAxes() {
    for (const double mark : marks())
      text_ += fmt::format(
          "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
          "class=\"grid\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" class=\"end\">"
          "{5:.6g}</text>\n",
          left_ + kLeft, left_ + kWidth - kRight, y(mark), left_ + kLeft - 6,
          y(mark) + 4, mark);
    const double foot = top_ + kHeight - kBelow + 16;
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{:.6g}</text>"
                         "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"end\">"
                         "step {:.12g}</text>\n",
                         left_ + kLeft, foot, first_, left_ + kWidth - kRight,
                         foot, last_);
  }

  // Parts that hang together; a part of one point is a dot.
  void drawLine(const Points &line, size_t number) {
    const bool isThin = panel_.isNoisy && line.size() > kManyPoints;
    addPath(line, number, isThin ? "thin" : "line");
    if (isThin)
      addPath(smooth(line), number, "line");
  }
  void addPath(const Points &line, size_t number, const char *kind) {
    std::string path;
    bool open = false;
    for (size_t i = 0; i < line.size(); ++i) {
      const Curve::Point &p = line[i];
      if (!isShown(p)) {
        open = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", open ? "L" : "M", x(p.x), y(p.y));
      if (!open && (i + 1 == line.size() || !isShown(line[i + 1])))
        text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" "
                             "class=\"dot{}\"/>\n",
                             x(p.x), y(p.y), number % 4);
      open = true;
    }
    text_ += fmt::format("<path d=\"{}\" class=\"{} c{}\"/>\n", path, kind,
                         number % 4);
  }
  // A mean that forgets within a fiftieth of the curve.
  static Points smooth(const Points &line) {
    const double keep = 1 - 50.0 / static_cast<double>(line.size() + 50);
    Points result;
    double mean = 0, weight = 0;
    for (const Curve::Point &p : line)
      if (isShown(p)) {
        mean = keep * mean + (1 - keep) * p.y;
        weight = keep * weight + (1 - keep);
        result.push_back({p.x, mean / weight});
      }
    return result;
  }

  void drawNames() {
    double at = left_ + kLeft;
    for (size_t i = 0; i < panel_.curves.size(); ++i) {
      const std::string name = xmlText(panel_.curves[i]->name());
      const double foot = top_ + kHeight - 6;
      text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" "
                           "class=\"dot{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}"
                           "</text>\n",
                           at + 4, foot - 4, i % 4, at + 12, foot, name);
      at += 30 + 7.2 * static_cast<double>(panel_.curves[i]->name().size());
    }
  }

  const CurvePanel &panel_;
  const double left_, top_;
  std::vector<Points> lines_;
  double low_, high_, first_, last_; // low and high: logarithms if isLog_
  bool isLog_ = false;
  std::string text_;
};

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

void Curve::add(double x, double y) {
  last_ = {x, y};
  if (count_++ % stride_ == 0)
    kept_.push_back(last_);
  if (kept_.size() < kMostCurvePoints)
    return;
  for (size_t i = 0; 2 * i < kept_.size(); ++i)
    kept_[i] = kept_[2 * i];
  kept_.resize((kept_.size() + 1) / 2);
  stride_ *= 2;
}

std::vector<Curve::Point> Curve::points() const {
  std::vector<Point> points = kept_;
  if (!points.empty() && points.back().x != last_.x)
    points.push_back(last_);
  return points;
}

std::string curvesPicture(std::string_view title,
                          const std::vector<CurvePanel> &panels) {
  std::string body;
  int count = 0;
  for (const CurvePanel &panel : panels)
    if (PanelPicture::hasPoints(panel)) {
      body += PanelPicture(panel, kWidth * (count % 2),
                           kTop + kHeight * (count / 2))
                  .draw();
      ++count;
    }
  const double width = 2 * kWidth, height = kTop + kHeight * ((count + 1) / 2);
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
                     "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family="
                     "\"sans-serif\" font-size=\"12\" role=\"img\">\n"
                     "<title>{2}</title>\n{3}<text x=\"16\" y=\"26\" "
                     "class=\"head\" font-size=\"15\">{2}</text>\n{4}</svg>\n",
                     width, height, xmlText(title), kStyle, body);
}

} // namespace dlc
