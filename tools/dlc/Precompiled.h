// SPDX-License-Identifier: Apache-2.0
// Precompiled header of the commands (tools/cmake/Precompiled.cmake).
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
