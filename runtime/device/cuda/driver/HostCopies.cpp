// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/HostCopies.h"

namespace dlc {

Status HostCopy::begin() const {
  DLC_TRY(computed_.record(context_.compute()));
  return computed_.holdBack(stream_);
}

Status HostCopy::toHost(void *to, CUdeviceptr from, uint64_t bytes) const {
  DLC_TRY(begin());
  DLC_TRY(context_.check(
      context_.driver().cuMemcpyDtoHAsync(to, from, bytes, stream_),
      "cuMemcpyDtoHAsync"));
  return copied_.record(stream_);
}

Status HostCopy::toDevice(CUdeviceptr to, const void *from,
                          uint64_t bytes) const {
  DLC_TRY(begin());
  DLC_TRY(context_.check(
      context_.driver().cuMemcpyHtoDAsync(to, from, bytes, stream_),
      "cuMemcpyHtoDAsync"));
  return copied_.record(stream_);
}

Status HostCopy::wait() const { return copied_.holdBack(context_.compute()); }

HostCopies::~HostCopies() {
  for (CUstream stream : streams_)
    if (stream)
      context_.driver().cuStreamDestroy(stream);
}

Result<std::shared_ptr<const HostCopy>> HostCopies::add(int64_t number,
                                                        Direction direction) {
  CUstream &stream = streams_[static_cast<size_t>(direction)];
  if (!stream)
    DLC_TRY(context_.check(context_.driver().cuStreamCreateWithPriority(
                               &stream, CU_STREAM_NON_BLOCKING, 0),
                           "cuStreamCreateWithPriority"));
  DLC_ASSIGN(GpuEvent computed, GpuEvent::create(context_));
  DLC_ASSIGN(GpuEvent copied, GpuEvent::create(context_));
  std::shared_ptr<const HostCopy> copy(
      new HostCopy(context_, stream, std::move(computed), std::move(copied)));
  open_[number] = copy;
  return copy;
}

std::shared_ptr<const HostCopy> HostCopies::take(int64_t number) {
  auto found = open_.extract(number);
  return found ? std::move(found.mapped()) : nullptr;
}

Status HostCopies::synchronize(std::string_view work) const {
  for (CUstream stream : streams_)
    if (stream)
      DLC_TRY(
          context_.check(context_.driver().cuStreamSynchronize(stream), work));
  return {};
}

} // namespace dlc
