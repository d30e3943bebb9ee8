// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace dlc::ptx {

/// A module that the machine cannot run: what is unknown, and the line.
struct Refusal : std::runtime_error {
  Refusal(int line, const std::string &what)
      : std::runtime_error("line " + std::to_string(line) + ": " + what) {}
};

} // namespace dlc::ptx
