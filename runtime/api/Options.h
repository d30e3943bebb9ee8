// SPDX-License-Identifier: Apache-2.0
// Options of dlc.h as rows of a table.
#pragma once

#include "runtime/api/Handles.h"
#include "runtime/base/options/OptionTable.h"

namespace dlc::api {

// Sets the options by the names of their flags and checks the whole. The keys
// that were given; Code::Usage for an unknown name, with the nearest one.
Result<OptionTable::Given> apply(OptionTable &table, const dlc_option *options,
                                 size_t count);

// The same in the caller's terms, as long as `kept` lives.
std::vector<dlc_option> given(const std::vector<KeptOption> &kept);

// What is made of samples, with a data set's own options instead.
Result<SampleOptions> withOptions(SampleOptions samples,
                                  const std::vector<KeptOption> &kept);

} // namespace dlc::api
