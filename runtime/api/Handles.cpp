// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/Handles.h"

#include "runtime/base/process/Log.h"
#include "runtime/plan/Artifact.h"

#include <iterator>

using namespace dlc;

namespace {
thread_local std::string lastMessage;

// In the order of dlc_dtype.
constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16, DType::F64,
                            DType::I64, DType::I32, DType::U8,   DType::Bool};
} // namespace

namespace dlc::api {

dlc_code end(const Status &status) noexcept {
  if (!status.ok())
    try {
      lastMessage = status.message();
    } catch (...) { // no memory: uses a short message
      lastMessage = "out of memory";
    }
  return static_cast<dlc_code>(status.code());
}

Status expectGiven(AllGiven given) {
  for (const Given &one : given)
    if (!one.pointer)
      return usageError("{} is null", one.what);
  return {};
}

Status expectSize(const void *given, size_t least, size_t known, bool read,
                  const char *name) {
  constexpr size_t kMost = 4096;
  size_t size;
  std::memcpy(&size, given, sizeof(size));
  if (size < least || size > kMost)
    return usageError("{}.size is {}: set it to sizeof({})", name, size, name);
  const auto *bytes = static_cast<const char *>(given);
  if (read && size > known &&
      std::any_of(bytes + known, bytes + size, [](char c) { return c != 0; }))
    return usageError("{} has fields that this version of libdlc.so, {}, does "
                      "not know",
                      name, dlcVersion());
  return {};
}

Result<std::vector<int64_t>> shapeOf(const dlc_tensor &tensor) {
  constexpr int32_t kMost = 64;
  if (tensor.rank < 0 || tensor.rank > kMost ||
      (tensor.rank > 0 && !tensor.shape))
    return usageError("array '{}' has no shape", text(tensor.name));
  return std::vector<int64_t>(tensor.shape, tensor.shape + tensor.rank);
}

std::optional<DType> typeOf(dlc_dtype dtype) {
  const auto at = size_t(dtype);
  if (at >= std::size(kTypes))
    return {};
  return kTypes[at];
}

dlc_dtype typeOf(DType dtype) {
  size_t at = 0;
  while (kTypes[at] != dtype)
    ++at;
  return static_cast<dlc_dtype>(at);
}

void TensorList::add(std::string name, DType dtype, std::vector<int64_t> shape,
                     void *data, uint64_t bytes) {
  owned_.push_back(
      {std::move(name), std::move(shape), typeOf(dtype), data, bytes});
}

const dlc_tensor *TensorList::get(size_t *count) {
  tensors_.clear();
  for (const Owned &o : owned_)
    tensors_.push_back({o.name.c_str(), o.dtype, int32_t(o.shape.size()),
                        o.shape.data(), o.data, o.bytes});
  if (count)
    *count = tensors_.size();
  return tensors_.empty() ? nullptr : tensors_.data();
}

} // namespace dlc::api

const char *dlc_version(void) { return dlcVersion().data(); }

const char *dlc_message(void) { return lastMessage.c_str(); }

void dlc_set_log(dlc_log log, void *user) {
  (void)api::call("a log", {}, [&]() -> Status {
    if (log)
      setLogSink([log, user](LogLevel level, std::string_view line) {
        log(user, static_cast<dlc_level>(level), std::string(line).c_str());
      });
    else
      setLogSink({});
    return {};
  });
}

size_t dlc_dtype_size(dlc_dtype dtype) {
  const auto type = api::typeOf(dtype);
  return type ? sizeOf(*type) : 0;
}
