// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/CurveCanvas.h"

#include "runtime/base/Text.h"
#include "runtime/train/record/StrokeLetters.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr double kScale = 2;
constexpr double kUnit = 0.12; // of a letter's size: a step of its strokes

double distanceTo(CanvasPoint a, CanvasPoint b, double x, double y) {
  const double alongX = b.x - a.x, alongY = b.y - a.y;
  const double length = alongX * alongX + alongY * alongY;
  const double at =
      length > 0
          ? std::clamp(((x - a.x) * alongX + (y - a.y) * alongY) / length, 0.0,
                       1.0)
          : 0;
  return std::hypot(x - a.x - at * alongX, y - a.y - at * alongY);
}

// Whole pixels that hold a segment and what lies `reach` around.
struct PixelBox {
  PixelBox(CanvasPoint a, CanvasPoint b, double reach, const Picture &in)
      : left(first(std::min(a.x, b.x) - reach)),
        right(last(std::max(a.x, b.x) + reach, in.width)),
        top(first(std::min(a.y, b.y) - reach)),
        bottom(last(std::max(a.y, b.y) + reach, in.height)) {}
  int left, right, top, bottom;

private:
  static int first(double at) { return std::max(0, int(std::floor(at))); }
  static int last(double at, int most) {
    return std::min(most, int(std::ceil(at)));
  }
};

} // namespace

PixelCanvas::PixelCanvas(double width, double height) {
  picture_.width = int(std::lround(width * kScale));
  picture_.height = int(std::lround(height * kScale));
  const size_t pixels = size_t(picture_.width) * size_t(picture_.height);
  picture_.rgb.assign(3 * pixels, 255);
  covered_.resize(pixels);
}

PixelCanvas::Ink PixelCanvas::inkOf(size_t colour) {
  constexpr Ink kInks[] = {{0x00, 0x72, 0xb2, 1},
                           {0xd5, 0x5e, 0x00, 1},
                           {0x00, 0x9e, 0x73, 1},
                           {0xcc, 0x79, 0xa7, 1}};
  return kInks[colour % std::size(kInks)];
}

// Each pixel takes ink once, as much as the nearest line covers of it: lines
// that cross or meet are not darker there.
void PixelCanvas::draw(const std::vector<std::vector<CanvasPoint>> &lines,
                       double width, const Ink &ink) {
  const double reach = width * kScale / 2;
  const auto scaled = [](CanvasPoint p) {
    return CanvasPoint{p.x * kScale, p.y * kScale};
  };
  const auto eachSegment = [&](const auto &work) {
    for (const auto &line : lines)
      for (size_t i = 0; i < line.size(); ++i) {
        if (i == 0 && line.size() > 1)
          continue;
        const CanvasPoint a = scaled(line[i ? i - 1 : 0]), b = scaled(line[i]);
        const PixelBox box(a, b, reach + 1, picture_);
        for (int y = box.top; y < box.bottom; ++y)
          for (int x = box.left; x < box.right; ++x)
            work(size_t(y) * size_t(picture_.width) + size_t(x),
                 [&] { return distanceTo(a, b, x + 0.5, y + 0.5); });
      }
  };
  eachSegment([&](size_t pixel, const auto &distance) {
    const auto share = float(std::clamp(reach + 0.5 - distance(), 0.0, 1.0));
    covered_[pixel] = std::max(covered_[pixel], share);
  });
  eachSegment([&](size_t pixel, const auto &) {
    const double share = ink.share * double(covered_[pixel]);
    covered_[pixel] = 0;
    uint8_t *rgb = picture_.rgb.data() + 3 * pixel;
    const uint8_t of[] = {ink.red, ink.green, ink.blue};
    for (int c = 0; share > 0 && c < 3; ++c)
      rgb[c] = uint8_t(std::lround(rgb[c] + share * (of[c] - rgb[c])));
  });
}

void PixelCanvas::text(CanvasPoint at, std::string_view text,
                       const CanvasText &style) {
  const double unit = style.size * kUnit;
  const std::string letters = printable(text);
  std::vector<std::vector<CanvasPoint>> lines;
  double x = 0;
  for (const char c : letters) {
    if ((uint8_t(c) & 0xc0) == 0x80)
      continue; // more of a character that is one box
    const StrokeLetter &letter = strokeLetter(c);
    for (const auto &stroke : letter.strokes) {
      auto &line = lines.emplace_back();
      for (const StrokePoint &p : stroke)
        line.push_back({x + p.x * unit, at.y - p.y * unit});
    }
    x += letter.width * unit;
  }
  const double from = style.isEnd ? at.x - x + unit : at.x;
  for (auto &line : lines)
    for (CanvasPoint &p : line)
      p.x += from;
  draw(lines, style.size * (style.isHead ? 0.14 : 0.09), {0x22, 0x22, 0x22, 1});
}

void PixelCanvas::grid(CanvasPoint from, double toX) {
  // On the middle of a pixel, so that it is one.
  const double y = (std::floor(from.y * kScale) + 0.5) / kScale;
  draw({{{from.x, y}, {toX, y}}}, 1 / kScale, {0x88, 0x88, 0x88, 0.4});
}

void PixelCanvas::dot(CanvasPoint at, double radius, size_t colour) {
  draw({{at}}, 2 * radius, inkOf(colour));
}

void PixelCanvas::path(const std::vector<std::vector<CanvasPoint>> &lines,
                       bool isThin, size_t colour) {
  Ink ink = inkOf(colour);
  ink.share = isThin ? 0.35 : 1;
  draw(lines, isThin ? 1 : 1.8, ink);
}

} // namespace dlc
