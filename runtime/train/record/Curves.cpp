// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Curves.h"

#include "runtime/data/pictures/PngFile.h"
#include "runtime/train/record/CurveCanvas.h"

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
  PanelPicture(const CurvePanel &panel, double left, double top, double width)
      : panel_(panel), left_(left), top_(top), width_(width) {
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

  void draw(CurveCanvas &canvas) {
    canvas.text({left_ + kLeft, top_ + 18},
                panel_.title + (isLog_ ? " (logarithmic)" : ""),
                {.isHead = true});
    drawAxes(canvas);
    for (size_t i = 0; i < lines_.size(); ++i)
      drawLine(lines_[i], i, canvas);
    if (panel_.curves.size() > 1)
      drawNames(canvas);
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
    const double share =
        panel_.isLogX ? std::log(value / first_) / std::log(last_ / first_)
                      : (value - first_) / (last_ - first_);
    return left_ + kLeft + (width_ - kLeft - kRight) * share;
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

  void drawAxes(CurveCanvas &canvas) {
    const double right = left_ + width_ - kRight;
    for (const double mark : marks()) {
      canvas.grid({left_ + kLeft, y(mark)}, right);
      canvas.text({left_ + kLeft - 6, y(mark) + 4}, fmt::format("{:.6g}", mark),
                  {.isEnd = true});
    }
    const double foot = top_ + kHeight - kBelow + 16;
    canvas.text({left_ + kLeft, foot}, fmt::format("{:.6g}", first_), {});
    canvas.text({right, foot},
                panel_.isLogX ? fmt::format("{} {:.3g}", panel_.xName, last_)
                              : fmt::format("{} {:.12g}", panel_.xName, last_),
                {.isEnd = true});
    if (panel_.isLogX)
      drawPowers(canvas, foot);
  }

  // Powers of ten between the ends, where there is room for them.
  void drawPowers(CurveCanvas &canvas, double foot) {
    constexpr double kRoom = 80;
    const double from = x(first_) + kRoom, to = x(last_) - kRoom;
    for (double at = std::ceil(std::log10(first_)); at < std::log10(last_);
         ++at)
      if (const double mark = std::pow(10, at); x(mark) > from && x(mark) < to)
        canvas.text({x(mark) - 12, foot}, fmt::format("{:.6g}", mark), {});
  }

  // Parts that hang together; a part of one point is a dot.
  void drawLine(const Points &line, size_t number, CurveCanvas &canvas) {
    const bool isThin = panel_.isNoisy && line.size() > kManyPoints;
    addPath(line, number, isThin, canvas);
    if (isThin)
      addPath(smooth(line), number, false, canvas);
  }
  void addPath(const Points &line, size_t number, bool isThin,
               CurveCanvas &canvas) {
    std::vector<std::vector<CanvasPoint>> parts;
    bool open = false;
    for (const Curve::Point &p : line) {
      if (isShown(p) && !open)
        parts.emplace_back();
      open = isShown(p);
      if (open)
        parts.back().push_back({x(p.x), y(p.y)});
    }
    for (const auto &part : parts)
      if (part.size() == 1)
        canvas.dot(part[0], 3, number);
    canvas.path(parts, isThin, number);
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

  void drawNames(CurveCanvas &canvas) {
    double at = left_ + kLeft;
    for (size_t i = 0; i < panel_.curves.size(); ++i) {
      const std::string &name = panel_.curves[i]->name();
      const double foot = top_ + kHeight - 6;
      canvas.dot({at + 4, foot - 4}, 4, i);
      canvas.text({at + 12, foot}, name, {});
      at += 30 + 7.2 * static_cast<double>(name.size());
    }
  }

  const CurvePanel &panel_;
  const double left_, top_, width_;
  std::vector<Points> lines_;
  double low_, high_, first_, last_; // low and high: logarithms if isLog_
  bool isLog_ = false;
};

struct CurveSheet {
  std::vector<const CurvePanel *> panels; // that have anything to show
  double width = 2 * kWidth, height = 0;

  explicit CurveSheet(const std::vector<CurvePanel> &given) {
    for (const CurvePanel &panel : given)
      if (PanelPicture::hasPoints(panel))
        panels.push_back(&panel);
    height = kTop + kHeight * double((panels.size() + 1) / 2);
  }

  void draw(std::string_view title, CurveCanvas &canvas) const {
    canvas.text({16, 26}, title, {.size = 15, .isHead = true});
    for (size_t i = 0; i < panels.size(); ++i)
      PanelPicture(*panels[i], kWidth * double(i % 2),
                   kTop + kHeight * double(i / 2),
                   panels.size() == 1 ? width : kWidth)
          .draw(canvas);
  }
};

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

std::string curvesSvg(std::string_view title,
                      const std::vector<CurvePanel> &panels) {
  const CurveSheet sheet(panels);
  SvgCanvas canvas;
  sheet.draw(title, canvas);
  return canvas.file(title, sheet.width, sheet.height);
}

std::string curvesPng(std::string_view title,
                      const std::vector<CurvePanel> &panels) {
  const CurveSheet sheet(panels);
  PixelCanvas canvas(sheet.width, sheet.height);
  sheet.draw(title, canvas);
  return encodePng(canvas.picture());
}

} // namespace dlc
