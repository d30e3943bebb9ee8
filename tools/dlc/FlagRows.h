// SPDX-License-Identifier: Apache-2.0
// Rows of options that several commands share.
#pragma once

#include "runtime/train/session/AveragesRow.h"

namespace dlc::tool {

// The argument MODEL: any path that openModel() accepts.
Option &addModel(OptionTable &table, std::string key, std::string &path);

// --threads; `help` describes the default.
Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help);

// -o, --output: an output file.
Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help);

} // namespace dlc::tool
