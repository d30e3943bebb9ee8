// SPDX-License-Identifier: Apache-2.0
// Headers that most files of the runtime include; precompiled once
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
