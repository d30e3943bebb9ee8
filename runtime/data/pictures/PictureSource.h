// SPDX-License-Identifier: Apache-2.0
// Pictures as samples: encoded files, or an array to be augmented.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/data/pictures/Picture.h"

namespace dlc {

// Files of pictures in any storage. Immutable and thread-safe.
class Pictures {
public:
  virtual ~Pictures() = default;

  virtual std::string name() const = 0;
  virtual int64_t count() const = 0;
  // Name for messages, 0 <= index < count().
  virtual std::string nameOf(int64_t index) const = 0;
  virtual Result<SharedBytes> read(int64_t index) const = 0;
  // A class per picture; empty without classes.
  virtual const std::vector<int64_t> &labels() const { return labels_; }
  // Names of the classes in order of their numbers; empty if they have none.
  virtual const std::vector<std::string> &classes() const { return classes_; }
  // See Source::hash().
  virtual Result<std::string> hash() const = 0;

protected:
  std::vector<int64_t> labels_;
  std::vector<std::string> classes_;
};

// Content of a picture file.
Result<SharedBytes> readPictureFile(const std::string &path);
// A slice of a mapped file, whose pages are released after use.
SharedBytes lentBytes(std::span<const std::byte> bytes,
                      std::shared_ptr<const void> file);

// Larger files are rejected.
constexpr uint64_t kMaxPictureFile = 256 << 20;

// Arrays x, u8 in the shape requested of shaped() ([3, H, W], [1, H, W], [H, W,
// 3] or [H, W, 1]; an error for others), and y, i64, if there are classes,
// which are numbered by their names in options.classes unless that is empty; an
// error for a class that is missing there. Errors name the picture.
std::shared_ptr<const Source> pictureSource(std::shared_ptr<const Pictures>,
                                            BadSamples bad);

// `source` with options.augmentation applied to array `key`, u8 [N, 3, H, W],
// [N, 1, H, W], [N, H, W, 3] or [N, H, W, 1], without a change of shape.
// Code::Usage if there is no such array.
Result<std::shared_ptr<const Source>>
augmentedArray(std::shared_ptr<const Source> source, std::string key,
               const SampleOptions &options);

} // namespace dlc
