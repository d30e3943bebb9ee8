// SPDX-License-Identifier: Apache-2.0
// The report of dlc data inspect.
#pragma once

#include "tools/dlc/Commands.h"

#include "runtime/base/Json.h"

#include <fmt/format.h>

#include <string>

namespace dlc::tool {

using OrderedJson = nlohmann::ordered_json;

// Output, and the number of broken samples.
struct DataReport {
  OrderedJson json;
  std::string text;
  int64_t broken = 0;

  template <class... Values>
  void line(fmt::format_string<Values...> format, Values &&...values) {
    text += fmt::format(format, std::forward<Values>(values)...) + "\n";
  }
};

void addPreview(CommandLine &line, CLI::App &data);

} // namespace dlc::tool
