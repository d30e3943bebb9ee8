// The page that dlc report writes: its text before and after the data.
#pragma once

namespace dlc::tool {

extern const char kReportHead[], kReportTail[];

} // namespace dlc::tool
