// SPDX-License-Identifier: Apache-2.0
// The implementation of dlc.h's handles, and error handling of its functions.
#pragma once

#include "runtime/api/dlc/dlc.h"
#include "runtime/base/Status.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/Source.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>

namespace dlc::api {

// An option copied from the call that set it.
struct KeptOption {
  std::string name;
  std::optional<std::string> value;
};

} // namespace dlc::api

struct dlc_dataset {
  std::shared_ptr<const dlc::Source> source;
  std::vector<dlc::api::KeptOption> options = {}; // options of samples
};

namespace dlc::api {

// Stores the message for dlc_message() and returns the code.
dlc_code end(const Status &status) noexcept;

// A pointer that must not be null, and its name in messages.
struct Given {
  Given(const void *pointer, const char *what) : pointer(pointer), what(what) {}
  // For a list, which may be null if it is empty.
  Given(const void *list, size_t count, const char *what)
      : Given(count ? list : this, what) {}

  const void *pointer;
  const char *what;
};
using AllGiven = std::initializer_list<Given>;

// Code::Usage if a pointer is null.
Status expectGiven(AllGiven given);

// The body of every function of dlc.h: Code::Usage if one of `given` is null,
// else the result of body(), or of the exception that it throws.
template <class F>
dlc_code call(std::string_view doing, AllGiven given, F &&body) noexcept {
  return end(guarded(doing, [&]() -> Status {
    DLC_TRY(expectGiven(given));
    return body();
  }));
}

// Checks a struct that begins with its size: the size must be at least `least`,
// that of version 0.1. Code::Usage if it is not, or if it is `read` and has
// nonzero bytes after `known` bytes.
Status expectSize(const void *given, size_t least, size_t known, bool read,
                  const char *name);

// A copy of the caller's struct in this version's form.
template <class T>
Result<T> taken(const T *given, size_t least, const char *name) {
  DLC_TRY(expectSize(given, least, sizeof(T), true, name));
  T known = {};
  std::memcpy(&known, given, std::min(given->size, sizeof(T)));
  return known;
}

// Fills the caller's struct, whose size has been checked.
template <class T> void fill(T *place, T found) {
  const size_t size = place->size;
  found.size = size;
  std::memset(static_cast<void *>(place), 0, size);
  std::memcpy(static_cast<void *>(place), &found, std::min(size, sizeof(T)));
}

// The list that body() returns; null and *count = 0 if it fails.
template <class F>
auto list(std::string_view doing, AllGiven given, size_t *count,
          F &&body) noexcept {
  decltype(body()) found = nullptr;
  if (count)
    *count = 0;
  (void)call(doing, given, [&]() -> Status {
    found = body();
    return {};
  });
  return found;
}

// The text, or "" for null.
inline std::string text(const char *given) { return given ? given : ""; }

// The shape of a tensor from the caller. Code::Usage if it is missing, or has
// too many dimensions.
Result<std::vector<int64_t>> shapeOf(const dlc_tensor &tensor);

// The type that dlc.h's constant means; nullopt for unknown numbers.
std::optional<DType> typeOf(dlc_dtype dtype);
dlc_dtype typeOf(DType dtype);

// Tensors at fixed addresses, for the caller to read.
class TensorList {
public:
  void add(std::string name, DType dtype, std::vector<int64_t> shape,
           void *data = nullptr, uint64_t bytes = 0);
  // Null if the list is empty.
  const dlc_tensor *get(size_t *count);

private:
  struct Owned {
    std::string name;
    std::vector<int64_t> shape;
    dlc_dtype dtype;
    void *data;
    uint64_t bytes;
  };
  std::deque<Owned> owned_;
  std::vector<dlc_tensor> tensors_;
};

} // namespace dlc::api
