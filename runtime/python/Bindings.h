// SPDX-License-Identifier: Apache-2.0
// Functions that define the parts of the module.
#pragma once

#include <nanobind/nanobind.h>

namespace dlc::python {

void bindSession(nanobind::module_ &module);
void bindTrainer(nanobind::module_ &module);

} // namespace dlc::python
