// SPDX-License-Identifier: Apache-2.0
// Encoded pictures as a source of samples: x the pixels, y the class.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/Picture.h"

namespace dlc {

// Files of pictures, wherever they are. Immutable; any thread may read.
class Pictures {
public:
  virtual ~Pictures() = default;

  virtual std::string name() const = 0;
  virtual int64_t count() const = 0;
  // Of one, 0 <= index < count(), for messages.
  virtual std::string nameOf(int64_t index) const = 0;
  virtual Result<SharedBytes> read(int64_t index) const = 0;
  // A class for each; none if there are no classes.
  virtual const std::vector<int64_t> &labels() const { return labels_; }
  // In the order of their numbers; empty if they have no names.
  virtual const std::vector<std::string> &classes() const { return classes_; }
  // As Source's.
  virtual Result<std::string> hash() const = 0;

protected:
  std::vector<int64_t> labels_;
  std::vector<std::string> classes_;
};

// The content of a file of one.
Result<SharedBytes> readPictureFile(const std::string &path);
// Some of a mapped file's bytes, whose pages are given back after their use.
SharedBytes lentBytes(std::span<const std::byte> bytes,
                      std::shared_ptr<const void> file);

// No file of more bytes is read.
constexpr uint64_t kMaxPictureFile = 256 << 20;

// Arrays x, u8 in the shape that shaped() is asked for ([3, H, W], [1, H, W],
// [H, W, 3] or [H, W, 1]; others are refused), and y, i64, if there are
// classes: by their names their numbers in options.classes, if that has any; a
// class that it lacks is an error. Errors name the picture.
std::shared_ptr<const Source> pictureSource(std::shared_ptr<const Pictures>,
                                            BadSamples bad);

} // namespace dlc
