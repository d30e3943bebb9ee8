// SPDX-License-Identifier: Apache-2.0
// What gpu-facts asks of a GPU. Where there is no answer: {"missing": why}.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/plan.pb.h"

namespace dlc::test {

using Ordered = nlohmann::ordered_json;

// Whether cuDNN's running variance is that of the population (n) or of the
// sample (n - 1).
Ordered runningVarianceFacts();

// Which form cuBLASLt's GELU is nearer to: {"from_tanh", "from_erf", "form"}.
Ordered geluFacts(plan::DType type);

// Commands by libraries, one entry each with its time in "us" and whether five
// runs gave the same bytes: convolutions of channels that are multiples of 8
// and are not, products, attention, norms. The GPU is opened as TuneOptions
// say.
Ordered convolutionFacts(bool all);
Ordered productFacts();
Ordered attentionFacts();
Ordered normFacts();

// A convolution and a product before and after the GPU was closed and opened.
Ordered reopenFacts();
Ordered flushFacts();

} // namespace dlc::test
