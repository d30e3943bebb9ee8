// SPDX-License-Identifier: Apache-2.0
// What curves are drawn on: an SVG, or pixels.
#pragma once

#include "runtime/data/augment/Picture.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

struct CanvasPoint {
  double x, y; // from the left, from the top
};

struct CanvasText {
  double size = 12; // of its letters
  bool isHead = false;
  bool isEnd = false; // the point is its right end, else its left one
};

// Lengths are those of CSS's pixels. Colours are numbers: a canvas has four,
// which eyes tell apart, and begins anew behind them.
class CurveCanvas {
public:
  virtual ~CurveCanvas() = default;

  // On the line `at`; any text.
  virtual void text(CanvasPoint at, std::string_view text,
                    const CanvasText &style) = 0;
  // A thin grey line that is level.
  virtual void grid(CanvasPoint from, double toX) = 0;
  virtual void dot(CanvasPoint at, double radius, size_t colour) = 0;
  // Lines through points each; thin ones are pale.
  virtual void path(const std::vector<std::vector<CanvasPoint>> &lines,
                    bool isThin, size_t colour) = 0;
};

// An SVG of a size, light or dark as its reader has it.
class SvgCanvas final : public CurveCanvas {
public:
  void text(CanvasPoint at, std::string_view text,
            const CanvasText &style) override;
  void grid(CanvasPoint from, double toX) override;
  void dot(CanvasPoint at, double radius, size_t colour) override;
  void path(const std::vector<std::vector<CanvasPoint>> &lines, bool isThin,
            size_t colour) override;

  std::string file(std::string_view title, double width, double height) const;

private:
  std::string body_;
};

// Light, with two pixels for each of CSS's. Letters are those of ASCII; of
// others there is a box.
class PixelCanvas final : public CurveCanvas {
public:
  PixelCanvas(double width, double height);

  void text(CanvasPoint at, std::string_view text,
            const CanvasText &style) override;
  void grid(CanvasPoint from, double toX) override;
  void dot(CanvasPoint at, double radius, size_t colour) override;
  void path(const std::vector<std::vector<CanvasPoint>> &lines, bool isThin,
            size_t colour) override;

  const Picture &picture() const { return picture_; }

private:
  struct Ink {
    uint8_t red, green, blue;
    double share; // of it, where it covers
  };
  static Ink inkOf(size_t colour);
  void draw(const std::vector<std::vector<CanvasPoint>> &lines, double width,
            const Ink &ink);

  Picture picture_;
  std::vector<float> covered_; // by what is drawn: of each pixel
};

} // namespace dlc
