// SPDX-License-Identifier: Apache-2.0
// Rows of options that several commands have.
#pragma once

#include "runtime/train/session/AveragesRow.h"

namespace dlc::tool {

// The argument: whatever openModel() takes.
Option &addModel(OptionTable &table, std::string key, std::string &path);

// --threads; nothing: as `help` says.
Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help);

// -o, --output: a file.
Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help);

} // namespace dlc::tool
