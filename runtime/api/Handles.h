// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of dlc.h, and how its functions fail.
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

// An option that outlives the call that gave it.
struct KeptOption {
  std::string name;
  std::optional<std::string> value;
};

} // namespace dlc::api

struct dlc_dataset {
  std::shared_ptr<const dlc::Source> source;
  std::vector<dlc::api::KeptOption> options = {}; // of samples
};

namespace dlc::api {

// Keeps the message for dlc_message(); the code.
dlc_code end(const Status &status) noexcept;

// A pointer that a function must be given, and what it is in messages.
struct Given {
  Given(const void *pointer, const char *what) : pointer(pointer), what(what) {}
  // Of a list, which may be null if it is empty.
  Given(const void *list, size_t count, const char *what)
      : Given(count ? list : this, what) {}

  const void *pointer;
  const char *what;
};
using AllGiven = std::initializer_list<Given>;

// Code::Usage if one of them is null.
Status expectGiven(AllGiven given);

// Every function of dlc.h ends so: Code::Usage if one of `given` is null, else
// body()'s outcome, or that of what it throws.
template <class F>
dlc_code call(std::string_view doing, AllGiven given, F &&body) noexcept {
  return end(guarded(doing, [&]() -> Status {
    DLC_TRY(expectGiven(given));
    return body();
  }));
}

// What a struct that begins with its size must be: of `least` bytes, those of
// version 0.1, or more. Code::Usage if it is not, or has anything but 0 after
// `known` bytes and is `read`.
Status expectSize(const void *given, size_t least, size_t known, bool read,
                  const char *name);

// The struct that a program has made, as this version knows it.
template <class T>
Result<T> taken(const T *given, size_t least, const char *name) {
  DLC_TRY(expectSize(given, least, sizeof(T), true, name));
  T known = {};
  std::memcpy(&known, given, std::min(given->size, sizeof(T)));
  return known;
}

// Fills the struct that a program has a place for, whose size was expected.
template <class T> void fill(T *place, T found) {
  const size_t size = place->size;
  found.size = size;
  std::memset(static_cast<void *>(place), 0, size);
  std::memcpy(static_cast<void *>(place), &found, std::min(size, sizeof(T)));
}

// The list that body() returns, or none, and then *count is 0, where it fails.
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

// The name, or "" for null.
inline std::string text(const char *given) { return given ? given : ""; }

// Of a tensor that a program gives. Code::Usage if it has none, or more
// dimensions than any tensor.
Result<std::vector<int64_t>> shapeOf(const dlc_tensor &tensor);

// dlc.h's names for types; nothing for a number that is none of them.
std::optional<DType> typeOf(dlc_dtype dtype);
dlc_dtype typeOf(DType dtype);

// Tensors that stay where they are, for the caller to read.
class TensorList {
public:
  void add(std::string name, DType dtype, std::vector<int64_t> shape,
           void *data = nullptr, uint64_t bytes = 0);
  // Null for none.
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
