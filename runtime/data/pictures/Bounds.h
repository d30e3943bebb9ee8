// SPDX-License-Identifier: Apache-2.0
// What decoding a picture may cost, whatever its file claims.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/augment/Picture.h"

#include <cstdint>

namespace dlc {

// Bytes that one picture's decoding may take, and the decoders of all threads
// together.
constexpr int64_t kMaxDecoderBytes = 288 << 20;
constexpr int64_t kAllDecodersBytes = 320 << 20;

// Bytes of the decoders' budget, given back by the destructor.
class DecoderBytes {
public:
  // Waits until so many are free; threads get theirs in the order of asking, so
  // that a large picture is not kept waiting by small ones. A thread has at
  // most one of these at a time, else it would wait for itself. Code::Failed
  // above kMaxDecoderBytes. Any thread.
  static Result<DecoderBytes> take(int64_t bytes);

  DecoderBytes(DecoderBytes &&from) noexcept;
  DecoderBytes &operator=(DecoderBytes &&) = delete;
  ~DecoderBytes();

private:
  explicit DecoderBytes(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes_;
};

// Code::Failed where a file of `fileBytes` has so many scans of its pixels that
// decoding would take seconds; scans of cameras and web pages are below this.
Status checkScans(int64_t scans, int64_t pixels, int64_t fileBytes);

// By what the sides of a picture are divided while it is decoded. More than 1
// only above kLargePixels, and then neither side gets shorter than twice that
// of `least`; {0, 0}: 1.
constexpr int64_t kLargePixels = 8'000'000;
int reductionOf(PictureSize size, PictureSize least);

// The size after such a reduction: rounded up.
PictureSize reduced(PictureSize size, int reduction);

// A picture whose rows come from the top, each reduced as it comes: a pixel is
// the mean of a square of reduction x reduction pixels, of fewer at the right
// and at the bottom.
class RowReducer {
public:
  // Writes into `to`, which gets its memory at once.
  RowReducer(PictureSize size, int reduction, Picture &to);

  // Where the next row belongs: width * 3 bytes.
  uint8_t *row();
  // After each row that was written.
  void endRow();

private:
  PictureSize size_;
  int reduction_, y_ = 0;
  Picture &to_;
  std::vector<uint8_t> row_;
  std::vector<uint32_t> sums_;
};

} // namespace dlc
