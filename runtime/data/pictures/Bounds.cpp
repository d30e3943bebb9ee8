// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Bounds.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace dlc {
namespace {

struct DecoderBudget {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t used = 0;
  uint64_t asked = 0, served = 0; // tickets
};

DecoderBudget &decoderBudget() {
  static DecoderBudget budget;
  return budget;
}

constexpr int64_t kFreePixels = 150'000'000; // in all scans
constexpr int64_t kPixelsPerByte = 150;      // bytes of the file

} // namespace

Result<DecoderBytes> DecoderBytes::take(int64_t bytes) {
  constexpr int64_t kMiB = 1 << 20;
  if (bytes > kMaxDecoderBytes)
    return failed("decoding takes {} MiB, expected at most {}", bytes / kMiB,
                  kMaxDecoderBytes / kMiB);
  DecoderBudget &budget = decoderBudget();
  std::unique_lock lock(budget.mutex);
  const uint64_t ticket = budget.asked++;
  budget.changed.wait(lock, [&] {
    return ticket == budget.served && budget.used + bytes <= kAllDecodersBytes;
  });
  ++budget.served;
  budget.used += bytes;
  lock.unlock();
  budget.changed.notify_all();
  return DecoderBytes(bytes);
}

DecoderBytes::DecoderBytes(DecoderBytes &&from) noexcept
    : bytes_(std::exchange(from.bytes_, 0)) {}

DecoderBytes::~DecoderBytes() {
  if (!bytes_)
    return;
  DecoderBudget &budget = decoderBudget();
  {
    const std::lock_guard lock(budget.mutex);
    budget.used -= bytes_;
  }
  budget.changed.notify_all();
}

Status checkScans(int64_t scans, int64_t pixels, int64_t fileBytes) {
  if (scans <= 1 || scans * pixels <= kFreePixels + kPixelsPerByte * fileBytes)
    return {};
  return failed(
      "has {} scans of {} pixels in {} bytes, more than pictures need", scans,
      pixels, fileBytes);
}

int reductionOf(PictureSize size, PictureSize least) {
  if (least.width <= 0 || least.height <= 0 ||
      int64_t(size.width) * size.height <= kLargePixels)
    return 1;
  return std::max(
      1, std::min(size.width / least.width, size.height / least.height) / 2);
}

PictureSize reduced(PictureSize size, int reduction) {
  return {(size.height + reduction - 1) / reduction,
          (size.width + reduction - 1) / reduction};
}

RowReducer::RowReducer(PictureSize size, int reduction, Picture &to)
    : size_(size), reduction_(reduction), to_(to) {
  const PictureSize result = reduced(size, reduction);
  to = {result.height, result.width, {}};
  to.rgb.resize(size_t(result.height) * size_t(result.width) * 3);
  if (reduction == 1)
    return;
  row_.resize(size_t(size.width) * 3);
  sums_.resize(size_t(result.width) * 3);
}

uint8_t *RowReducer::row() {
  return reduction_ == 1 ? to_.rgb.data() + size_t(y_) * size_t(size_.width) * 3
                         : row_.data();
}

void RowReducer::endRow() {
  const int y = y_++;
  if (reduction_ == 1)
    return;
  for (int x = 0; x < size_.width; ++x)
    for (size_t c = 0; c < 3; ++c)
      sums_[size_t(x / reduction_) * 3 + c] += row_[size_t(x) * 3 + c];
  if (y_ % reduction_ && y_ != size_.height)
    return;
  const int rows = y % reduction_ + 1;
  uint8_t *out =
      to_.rgb.data() + size_t(y / reduction_) * size_t(to_.width) * 3;
  for (int x = 0; x < to_.width; ++x) {
    const int columns = std::min(reduction_, size_.width - x * reduction_);
    const auto pixels = uint32_t(rows * columns);
    for (size_t c = 0; c < 3; ++c) {
      uint32_t &sum = sums_[size_t(x) * 3 + c];
      *out++ = uint8_t((std::exchange(sum, 0) + pixels / 2) / pixels);
    }
  }
}

} // namespace dlc
