// SPDX-License-Identifier: Apache-2.0
// What most files of the runtime include, parsed once for all of them
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "runtime/plan/plan.pb.h"

#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>
