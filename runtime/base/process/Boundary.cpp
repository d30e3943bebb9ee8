// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Boundary.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace dlc {
namespace {

// Whether it is about an exhausted resource of the system.
bool isExhausted(const std::error_code &code) {
  for (int number : {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOBUFS})
    if (code == std::error_code(number, std::system_category()) ||
        code == std::error_code(number, std::generic_category()))
      return true;
  return false;
}

Status describe(std::string_view doing, Code other) {
  try {
    throw;
  } catch (const OutOfMemory &error) {
    return limitExceeded("{}: out of memory: {} bytes were asked for", doing,
                         error.bytes());
  } catch (const std::bad_alloc &) {
    return limitExceeded("{}: out of memory", doing);
  } catch (const std::length_error &error) {
    return limitExceeded("{}: an allocation exceeds the address space ({})",
                         doing, withoutControls(error.what()));
  } catch (const std::system_error &error) {
    return Status(isExhausted(error.code()) ? Code::Limit : other,
                  fmt::format("{}: {}", doing, withoutControls(error.what())));
  } catch (const std::exception &error) {
    return Status(other,
                  fmt::format("{}: {}", doing, withoutControls(error.what())));
  } catch (...) {
    return Status(other, fmt::format("{}: an unknown exception", doing));
  }
}

} // namespace

Status caughtException(std::string_view doing, Code other) noexcept {
  try {
    return describe(doing, other);
  } catch (...) {
    return Status(Code::Limit, "out of memory"); // short enough not to allocate
  }
}

} // namespace dlc
