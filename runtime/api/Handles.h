// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of dlc.h, and how its functions fail.
#pragma once

#include "runtime/api/dlc/dlc.h"
#include "runtime/base/Status.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/Source.h"

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

// body()'s outcome, or that of what it throws, as a function of dlc.h ends.
template <class F> dlc_code call(std::string_view doing, F &&body) noexcept {
  return end(guarded(doing, std::forward<F>(body)));
}

// Code::Usage if a pointer that must be given is null.
Status expectGiven(const void *pointer, std::string_view what);

// The name, or "" for null.
inline std::string text(const char *given) { return given ? given : ""; }

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
