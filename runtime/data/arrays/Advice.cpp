// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/arrays/Advice.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace dlc {
namespace {

bool soundsLikeLabels(const std::string &key) {
  const std::string word = lowerCase(key);
  for (const char *part : {"label", "target", "class", "truth"})
    if (word.find(part) != word.npos)
      return true;
  return word == "y" || word.starts_with("y_") || word.starts_with("y.");
}

// Whether a column's samples are f32 and cheap to read.
bool isReadable(const Dataset &data, const Column &column) {
  return column.spec().dtype == DType::F32 && !column.spec().isWeight &&
         !column.spec().isShared && !data.source().isSlow() &&
         !data.source().isStream();
}

} // namespace

std::string adviceOnNames(const std::vector<std::string> &keys,
                          const std::string &missing) {
  std::string x, y;
  for (const std::string &key : keys)
    (soundsLikeLabels(key) ? y : x) = key;
  if (missing == "y" && !y.empty())
    return fmt::format("; --columns=y={} reads it", y);
  if (x.empty() || keys.size() > 2 || missing == "y")
    return keys.empty()
               ? ""
               : fmt::format("; --columns={}=NAME reads another", missing);
  return fmt::format("; --columns={}={}{} reads {}", missing, x,
                     y.empty() || y == "y" ? "" : ",y=" + y,
                     y.empty() || y == "y" ? "it" : "them");
}

std::string adviceOnShape(const std::string &key,
                          const std::vector<int64_t> &found,
                          const std::vector<int64_t> &expected) {
  const auto mends = [&](const std::string &line) {
    return fmt::format("; {0} = {0}{1} mends it", key, line);
  };
  if (found.size() == 3 && expected.size() == 3) {
    if (found[2] == expected[0] && found[0] == expected[1] &&
        found[1] == expected[2])
      return mends(".transpose(0, 3, 1, 2)");
    if (found[0] == expected[2] && found[1] == expected[0] &&
        found[2] == expected[1])
      return mends(".transpose(0, 2, 3, 1)");
  }
  const auto product = [](const std::vector<int64_t> &shape) {
    return checkedElements(shape).value_or(0);
  };
  if (!expected.empty() && product(found) == product(expected))
    return mends(fmt::format(".reshape(-1, {})", fmt::join(expected, ", ")));
  return "";
}

std::string adviceOnLabels(const std::string &key, const Array &array,
                           uint64_t entries) {
  const std::vector<int64_t> sample = sampleShape(array.shape);
  const uint64_t found = checkedElements(sample).value_or(0);
  if (entries == 1 && sample.size() == 1 && found > 1)
    return fmt::format("; of one-hot labels, {0} = {0}.argmax(1) makes "
                       "classes; shares of classes need dlc compile "
                       "--soft-labels",
                       key);
  if (isFloat(array.dtype) && found == entries)
    return fmt::format("; of class numbers, {0} = {0}.astype('int64') makes "
                       "integers; numbers to be predicted need dlc compile "
                       "--loss=mse",
                       key);
  return "";
}

int pixelRange(const Column &column, int64_t samples) {
  constexpr int64_t kLooked = 8;
  float largest = 0;
  std::vector<float> values(column.sampleBytes() / sizeof(float));
  for (int64_t row = 0; row < std::min(samples, kLooked); ++row) {
    auto *to = reinterpret_cast<std::byte *>(values.data());
    if (!column.copySample(row, nullptr, to))
      return 0;
    for (const float value : values) {
      if (!(value >= 0 && value <= 65535) || value != std::floor(value))
        return 0;
      largest = std::max(largest, value);
    }
  }
  return largest > 255 ? 65535 : largest > 32 ? 255 : 0;
}

std::string notFinite(const Dataset &data) {
  constexpr size_t kNamed = 5;
  std::string text;
  for (const Column &column : data.columns()) {
    if (!isReadable(data, column))
      continue;
    std::vector<float> values(column.sampleBytes() / sizeof(float));
    std::vector<int64_t> rows;
    size_t count = 0;
    for (int64_t row = 0; row < data.samples(); ++row) {
      auto *to = reinterpret_cast<std::byte *>(values.data());
      if (!column.copySample(row, nullptr, to))
        break;
      const bool isFinite = std::ranges::all_of(
          values, [](float value) { return std::isfinite(value); });
      if (isFinite || ++count > kNamed)
        continue;
      rows.push_back(row);
    }
    if (count)
      text += fmt::format("{}'{}' in row{} {}{} ({} of {})",
                          text.empty() ? "" : ", ", column.spec().key,
                          count > 1 ? "s" : "", fmt::join(rows, ", "),
                          count > kNamed ? ", ..." : "", count, data.samples());
  }
  return text;
}

} // namespace dlc
