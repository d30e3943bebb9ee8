// What a run makes of samples between their file and its step.
#pragma once

#include <optional>

namespace dlc {

struct SampleOptions {
  std::optional<double> scale; // factor; absent: 1/255 for u8, else 1
};

} // namespace dlc
