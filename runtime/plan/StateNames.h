// SPDX-License-Identifier: Apache-2.0
// State names. A tensor of the model has its own name, unless dlc generates
// that name: the model's "step" becomes "model/step/".
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dlc::plan {

// Names that dlc generates, which never end in a slash: programs, regions and
// kernels; counters and the like ("step", "rng.rank"); "ema/NAME", "grad/NAME",
// "cache/NUMBER", and the moments "NAME.m", "NAME.v", "NAME.vmax", "NAME.vr",
// "NAME.vc", in 8 bits also "NAME.m.absmax" and so on.
bool isReserved(std::string_view name);

// Whether it is a cache of keys or values, "cache/NUMBER": not part of
// checkpoints.
bool isCache(std::string_view state);

// Prefix of states of a teacher's tensors, which are used only in its student's
// training steps and are not exported.
constexpr std::string_view kTeacher = "teacher/";

// The state of the model's tensor `name`; `isTensor` says whether the model has
// one of a name (the moments of "w" are "w.m", so that a tensor "w.m" beside it
// is kept as "model/w.m/"). Different tensors have different states.
std::string stateName(const std::string &name,
                      const std::function<bool(const std::string &)> &isTensor);

// The inverse: the tensor of a state with role param, buffer or const.
std::string modelName(std::string_view state);

} // namespace dlc::plan
