// SPDX-License-Identifier: Apache-2.0
// What dlc train --profile reports.
#pragma once

#include "runtime/device/CpuFigures.h"
#include "runtime/exec/Executor.h"

namespace dlc {

// The commands of `program` by time, most first: milliseconds of a step and
// share of it, rates, what it is and which ONNX nodes it came from. All after
// the first `rows` are one line. With `machine` also which share of the time is
// the command's roofline, and of a step; above 100 %: caches were faster.
std::string profileTable(const std::vector<CommandProfile> &commands,
                         std::string_view program, size_t rows,
                         const std::optional<CpuFigures> &machine = {});

// The same for scripts, a JSON array of objects, written atomically.
Status writeProfile(const std::vector<CommandProfile> &commands,
                    const std::string &path,
                    const std::optional<CpuFigures> &machine = {});

// When commands of a run of each program began and ended, on average, as
// chrome://tracing and Perfetto read it; written atomically.
Status writeTrace(const std::vector<CommandProfile> &commands,
                  const std::string &path);

// After a run's last step: both files in `run`, of which one less is a warning
// and no error, as all is saved. Returns the table of `program` for people. A
// CPU is judged by what dlc doctor bench machine measured for `threads` (0: as
// many as the process may run on), if it did and kept it in cacheFolder(cache).
std::string keepProfile(const std::vector<CommandProfile> &commands,
                        const plan::Plan &plan, std::string_view program,
                        int threads, const std::string &cache,
                        const std::string &run);

} // namespace dlc
