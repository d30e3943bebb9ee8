// SPDX-License-Identifier: Apache-2.0
// Curves as pictures, for a run's results.svg and results.png.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// A curve of any length, of which at most kMostCurvePoints are kept: of long
// ones every second, then every fourth, ..., and the last.
class Curve {
public:
  explicit Curve(std::string name) : name_(std::move(name)) {}

  // `x` grows. What is not finite is left out of the line.
  void add(double x, double y);

  const std::string &name() const { return name_; }
  struct Point {
    double x, y;
  };
  std::vector<Point> points() const;

private:
  std::string name_;
  std::vector<Point> kept_;
  Point last_{};
  int64_t count_ = 0, stride_ = 1;
};

constexpr size_t kMostCurvePoints = 1000;

struct CurvePanel {
  std::string title;
  std::vector<const Curve *> curves;
  // A curve of more than 50 points has a smooth one before it, and positive
  // values that differ by a factor of 50 or more a logarithmic scale.
  bool isNoisy = false;
  std::string xName = "step"; // behind the last x
  bool isLogX = false;        // all x are above 0
};

// Panels in two columns, one alone across both, with axes and names of curves,
// as an SVG or a PNG. Panels without a finite point are left out. Texts may
// hold anything.
std::string curvesSvg(std::string_view title,
                      const std::vector<CurvePanel> &panels);
std::string curvesPng(std::string_view title,
                      const std::vector<CurvePanel> &panels);

} // namespace dlc
