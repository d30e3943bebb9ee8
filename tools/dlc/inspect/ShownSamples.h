// SPDX-License-Identifier: Apache-2.0
// Samples of data as pages show them: pictures as PNG, and names of classes.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/ArrayLayout.h"

#include <string>

namespace dlc {

// The pictures of a source, and its labels "y" if they are classes.
class ShownSamples {
public:
  // Code::Usage if the array `key` has no pictures.
  static Result<ShownSamples> open(const Source &source,
                                   const std::string &key);

  int64_t count() const { return count_; }
  bool hasLabels() const { return labels_ != nullptr; }
  // pass as in RowReader::read.
  Result<Picture> picture(int64_t row, const TrainingPass *pass) const;
  Result<std::optional<int64_t>> label(int64_t row,
                                       const TrainingPass *pass) const;

private:
  int64_t count_ = 0;
  PixelLayout layout_;
  DType type_ = DType::I64; // of the labels
  std::shared_ptr<const RowReader> pixels_, labels_;
};

// The name of a class, else such as "class 3".
std::string nameOfClass(const std::vector<std::string> &names, int64_t number);

// An 8-bit RGB PNG.
std::string encodePng(const Picture &picture);
// The same as an address for a page: data:image/png;base64,...
std::string addressOf(const Picture &picture);

} // namespace dlc
