// What dlc train --profile reports.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

// The commands of `program` by time, most first: milliseconds of a step and
// share of it, rates, what it is and which ONNX nodes it came from. All after
// the first `rows` are one line.
std::string profileTable(const std::vector<CommandProfile> &commands,
                         std::string_view program, size_t rows);

// The same for scripts, a JSON array of objects, written atomically.
Status writeProfile(const std::vector<CommandProfile> &commands,
                    const std::string &path);

} // namespace dlc
