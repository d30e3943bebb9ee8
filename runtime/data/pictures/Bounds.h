// SPDX-License-Identifier: Apache-2.0
// Limits on memory and time of decoding, since files are untrusted.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/augment/Picture.h"

#include <cstdint>

namespace dlc {

// Bytes that decoding one picture may use, and also all decoders together.
constexpr int64_t kMaxDecoderBytes = 288 << 20;
constexpr int64_t kAllDecodersBytes = 320 << 20;

// Bytes taken from the decoders' budget, returned on destruction.
class DecoderBytes {
public:
  // Blocks until the bytes are available. Threads are served in the order of
  // their requests, so that small pictures do not starve large ones. A thread
  // may hold only one of these, else it would deadlock. Code::Failed above
  // kMaxDecoderBytes. Thread-safe.
  static Result<DecoderBytes> take(int64_t bytes);

  DecoderBytes(DecoderBytes &&from) noexcept;
  DecoderBytes &operator=(DecoderBytes &&) = delete;
  ~DecoderBytes();

private:
  explicit DecoderBytes(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes_;
};

// Code::Failed if a file of `fileBytes` bytes has so many scans that decoding
// would take seconds; files of cameras and web pages have fewer.
Status checkScans(int64_t scans, int64_t pixels, int64_t fileBytes);

// Divisor of a picture's sides during decoding. Above 1 only for more than
// kLargePixels, as long as each side stays at least twice that of `least`; {0,
// 0}: 1.
constexpr int64_t kLargePixels = 8'000'000;
int reductionOf(PictureSize size, PictureSize least);

// The size after this reduction, rounded up.
PictureSize reduced(PictureSize size, int reduction);

// A picture that is reduced row by row from the top: each pixel is the mean of
// a square of reduction x reduction pixels, which is cut off at the right and
// bottom edges.
class RowReducer {
public:
  // Writes to `to`, whose memory is allocated here.
  RowReducer(PictureSize size, int reduction, Picture &to);

  // Buffer for the next row: width * 3 bytes.
  uint8_t *row();
  // Must be called after each row was written.
  void endRow();

private:
  PictureSize size_;
  int reduction_, y_ = 0;
  Picture &to_;
  std::vector<uint8_t> row_;
  std::vector<uint32_t> sums_;
};

} // namespace dlc
