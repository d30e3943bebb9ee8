#include "runtime/data/pictures/Picture.h"

#include "runtime/data/pictures/Codecs.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

// For each output pixel the input pixels that it covers, with weights.
struct Taps {
  struct Tap {
    int first, count;
    size_t at; // of its weights
  };
  std::vector<Tap> pixels;
  std::vector<float> weights;
};

// Of `count` pixels from `begin` of a line that is scaled from `from` to `to`.
Taps tapsOf(int from, int to, int begin, int count) {
  Taps taps;
  const double scale = double(from) / to;
  const double support = std::max(scale, 1.0);
  for (int i = begin; i < begin + count; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(int(centre - support + 0.5), 0);
    const int last = std::min(int(centre + support + 0.5), from);
    const size_t at = taps.weights.size();
    double sum = 0;
    for (int k = first; k < last; ++k) {
      const double w =
          std::max(0.0, 1 - std::abs((k - centre + 0.5) / support));
      taps.weights.push_back(float(w));
      sum += w;
    }
    for (size_t k = at; k < taps.weights.size(); ++k)
      taps.weights[k] = float(taps.weights[k] / sum);
    taps.pixels.push_back({first, last - first, at});
  }
  return taps;
}

uint8_t rounded(float value) {
  return uint8_t(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

// Scales the rows [first, last) along x.
std::vector<uint8_t> scaleRows(const Picture &picture, const Taps &taps,
                               int first, int last) {
  std::vector<uint8_t> result(taps.pixels.size() * 3 * size_t(last - first));
  uint8_t *out = result.data();
  for (int y = first; y < last; ++y)
    for (const Taps::Tap &tap : taps.pixels) {
      const uint8_t *in = picture.row(y) + size_t(tap.first) * 3;
      const float *weight = taps.weights.data() + tap.at;
      float sum[3] = {};
      for (int k = 0; k < tap.count; ++k, in += 3)
        for (int c = 0; c < 3; ++c)
          sum[c] += weight[k] * in[c];
      for (float s : sum)
        *out++ = rounded(s);
    }
  return result;
}

// Scales along y what begins with row `first`.
void scaleColumns(const std::vector<uint8_t> &rows, int first, const Taps &taps,
                  Picture &to) {
  const size_t stride = size_t(to.width) * 3;
  std::vector<float> sums(stride);
  uint8_t *out = to.rgb.data();
  for (const Taps::Tap &tap : taps.pixels) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int k = 0; k < tap.count; ++k) {
      const float weight = taps.weights[tap.at + size_t(k)];
      const uint8_t *in = rows.data() + size_t(tap.first - first + k) * stride;
      for (size_t i = 0; i < stride; ++i)
        sums[i] += weight * in[i];
    }
    for (float sum : sums)
      *out++ = rounded(sum);
  }
}

} // namespace

std::string_view kindOfPicture(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char *>(file.data()),
                              file.size());
  if (text.starts_with("\xff\xd8\xff"))
    return "JPEG";
  if (text.starts_with("\x89PNG\r\n\x1a\n"))
    return "PNG";
  if (text.size() >= 12 && text.starts_with("RIFF") &&
      text.substr(8, 4) == "WEBP")
    return "WebP";
  return "";
}

Status checkPixels(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0)
    return failed("it has no pixels: {} x {}", width, height);
  if (width > kMaxPixels / height)
    return failed("it claims {} x {} pixels, expected at most {}", width,
                  height, kMaxPixels);
  return {};
}

PictureSize coveringSize(PictureSize from, PictureSize size) {
  constexpr int64_t kMost = 1 << 30; // of a picture a pixel high
  const int64_t byHeight = int64_t(from.width) * size.height;
  const int64_t byWidth = int64_t(from.height) * size.width;
  if (byWidth <= byHeight) // the height is what is short
    return {std::max(size.width, int(std::min(byHeight / from.height, kMost))),
            size.height};
  return {size.width,
          std::max(size.height, int(std::min(byWidth / from.width, kMost)))};
}

Result<PictureSize> sizeOfPicture(std::span<const std::byte> file) {
  const auto kind = kindOfPicture(file);
  if (kind == "JPEG") {
    DLC_ASSIGN(const JpegHeader header, readJpegHeader(file));
    return header.size;
  }
  if (kind == "PNG")
    return sizeOfPng(file);
  if (kind == "WebP")
    return sizeOfWebp(file);
  return failed("is no picture, expected JPEG, PNG or WebP");
}

Result<Picture> decodePicture(std::span<const std::byte> file,
                              PictureSize cover) {
  const auto kind = kindOfPicture(file);
  if (kind == "JPEG")
    return decodeJpeg(file, cover);
  if (kind == "PNG")
    return decodePng(file);
  if (kind == "WebP")
    return decodeWebp(file);
  return failed("is no picture, expected JPEG, PNG or WebP");
}

Picture fitPicture(const Picture &picture, PictureSize size) {
  const PictureSize all = coveringSize({picture.width, picture.height}, size);
  const auto middle = [](int whole, int part) {
    return int(std::lround((whole - part) / 2.0));
  };
  const Taps across = tapsOf(picture.width, all.width,
                             middle(all.width, size.width), size.width);
  const Taps down = tapsOf(picture.height, all.height,
                           middle(all.height, size.height), size.height);
  const int first = down.pixels.front().first;
  const int last = down.pixels.back().first + down.pixels.back().count;
  Picture result{size.width, size.height, {}};
  result.rgb.resize(size_t(size.width) * size_t(size.height) * 3);
  scaleColumns(scaleRows(picture, across, first, last), first, down, result);
  return result;
}

} // namespace dlc
