// SPDX-License-Identifier: Apache-2.0
// Errors as values. No exception crosses the border of a room.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

namespace dlc {

// Kinds of errors; the numbers are the tool's exit codes.
enum class Code {
  Ok = 0,
  Failed = 1,
  Usage = 2,
  BadModel = 3,
  Corrupt = 4,      // an artifact or checkpoint is damaged
  Incompatible = 5, // made for another version, device or CPU
  Limit = 6,        // out of memory or over a limit
  PeerLost = 7,     // another rank has ended or does not respond
  Diverged = 8,     // the loss is no longer finite
};

// Success, or a code and a message (lower-case start, no final period).
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::Ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }

  // The same error with "context: " before its message; success unchanged.
  Status withContext(std::string_view context) const {
    return ok() ? *this
                : Status(code_, fmt::format("{}: {}", context, message_));
  }
  template <class First, class... Rest>
  Status withContext(fmt::format_string<First, Rest...> format, First &&first,
                     Rest &&...rest) const {
    return ok() ? *this
                : withContext(std::string_view(
                      fmt::format(format, std::forward<First>(first),
                                  std::forward<Rest>(rest)...)));
  }

private:
  Code code_ = Code::Ok;
  std::string message_;
};

// A value, or the error because of which there is none.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Status error) : content_(std::in_place_index<1>, std::move(error)) {}
  template <class U,
            class = std::enable_if_t<std::is_convertible_v<U &&, T> &&
                                     !std::is_same_v<std::decay_t<U>, T> &&
                                     !std::is_same_v<std::decay_t<U>, Status> &&
                                     !std::is_same_v<std::decay_t<U>, Result>>>
  Result(U &&value)
      : content_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<1>(content_); }

  // As Status::withContext; a value unchanged.
  Result withContext(std::string_view context) && {
    return ok() ? std::move(*this) : Result(status().withContext(context));
  }
  template <class First, class... Rest>
  Result withContext(fmt::format_string<First, Rest...> format, First &&first,
                     Rest &&...rest) && {
    return ok()
               ? std::move(*this)
               : Result(status().withContext(format, std::forward<First>(first),
                                             std::forward<Rest>(rest)...));
  }

  // Requires ok().
  T &value() & { return std::get<0>(content_); }
  const T &value() const & { return std::get<0>(content_); }
  T &&value() && { return std::get<0>(std::move(content_)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

private:
  std::variant<T, Status> content_;
};

// failed("cannot open '{}'", path) and so on, one function per code.
#define DLC_ERROR_FUNCTION(name, code)                                         \
  template <class... Args>                                                     \
  Status name(fmt::format_string<Args...> format, Args &&...args) {            \
    return Status(code, fmt::format(format, std::forward<Args>(args)...));     \
  }
DLC_ERROR_FUNCTION(failed, Code::Failed)
DLC_ERROR_FUNCTION(usageError, Code::Usage)
DLC_ERROR_FUNCTION(badModel, Code::BadModel)
DLC_ERROR_FUNCTION(corrupt, Code::Corrupt)
DLC_ERROR_FUNCTION(incompatible, Code::Incompatible)
DLC_ERROR_FUNCTION(limitExceeded, Code::Limit)
DLC_ERROR_FUNCTION(peerLost, Code::PeerLost)
DLC_ERROR_FUNCTION(diverged, Code::Diverged)
#undef DLC_ERROR_FUNCTION

} // namespace dlc

#define DLC_CONCAT_(a, b) a##b
#define DLC_CONCAT(a, b) DLC_CONCAT_(a, b)

// Returns the error of a Status expression from the enclosing function.
#define DLC_TRY(...)                                                           \
  do {                                                                         \
    if (::dlc::Status dlcStatus = (__VA_ARGS__); !dlcStatus.ok())              \
      return dlcStatus;                                                        \
  } while (false)

// DLC_ASSIGN(auto x, f()): assigns f's value to x, or returns f's error.
#define DLC_ASSIGN(lhs, ...)                                                   \
  auto DLC_CONCAT(dlcResult, __LINE__) = (__VA_ARGS__);                        \
  if (!DLC_CONCAT(dlcResult, __LINE__).ok())                                   \
    return DLC_CONCAT(dlcResult, __LINE__).status();                           \
  lhs = *std::move(DLC_CONCAT(dlcResult, __LINE__))
