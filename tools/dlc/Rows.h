// Rows of options that several commands have.
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc::tool {

// The argument: whatever openModel() takes.
Option &addModel(OptionTable &table, std::string key, std::string &path);

// --ema, --ema=2: which set of averages; 0: none.
Option &addAverages(OptionTable &table, std::string key, int &set);

// --threads; nothing: as `help` says.
Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help);

// -o, --output: a file.
Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help);

} // namespace dlc::tool
