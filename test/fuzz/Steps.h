// Two training steps of an artifact, on samples of zeros and small labels.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dlc::fuzz {

// Nothing where a step would take long because the model is large.
Status trainTwoSteps(const std::string &artifact);

} // namespace dlc::fuzz
