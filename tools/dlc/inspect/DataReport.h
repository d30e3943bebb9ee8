// SPDX-License-Identifier: Apache-2.0
// What dlc data inspect says of a path.
#pragma once

#include "tools/dlc/Commands.h"

#include "runtime/base/Json.h"
#include "runtime/data/SampleOptions.h"
#include "runtime/data/pictures/PictureSource.h"

#include <fmt/format.h>

#include <string>

namespace dlc::tool {

using OrderedJson = nlohmann::ordered_json;

// What is printed, and how much of it is broken.
struct DataReport {
  OrderedJson json;
  std::string text;
  int64_t broken = 0;

  template <class... Values>
  void line(fmt::format_string<Values...> format, Values &&...values) {
    text += fmt::format(format, std::forward<Values>(values)...) + "\n";
  }
};

// A table's rows and columns: what is in each, and how often nothing. An error
// for rows that cannot be split, unless they are left out.
Status reportTable(const std::string &path, BadSamples bad, DataReport &report);

// A table's pictures; null: it has none.
Result<std::shared_ptr<const Pictures>>
picturesOfTable(const std::string &path);

// Text's tokens.
Status reportText(const std::string &path, const std::string &tokenizer,
                  DataReport &report);

void addTokenize(CommandLine &line, CLI::App &data);
void addPreview(CommandLine &line, CLI::App &data);

} // namespace dlc::tool
