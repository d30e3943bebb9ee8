// Options of dlc.h as rows of a table.
#pragma once

#include "runtime/api/dlc/dlc.h"
#include "runtime/base/options/OptionTable.h"

namespace dlc::api {

// Sets the options by the names of their flags and checks the whole. The keys
// that were given; Code::Usage for an unknown name, with the nearest one.
Result<OptionTable::Given> apply(OptionTable &table, const dlc_option *options,
                                 size_t count);

} // namespace dlc::api
