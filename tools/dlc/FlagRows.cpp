// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/FlagRows.h"

namespace dlc::tool {

Option &addModel(OptionTable &table, std::string key, std::string &path) {
  return table
      .text(std::move(key), path, "TEXT",
            "a run (its newest checkpoint), a checkpoint, RUN/best or an "
            "artifact")
      .named("model");
}

Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help) {
  return table.count(std::move(key), threads, 1, std::move(help), 4096);
}

Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help) {
  Option &row = table.text(std::move(key), path, "FILE", std::move(help))
                    .named("--output");
  row.alias = "-o";
  return row;
}

} // namespace dlc::tool
