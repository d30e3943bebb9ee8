// SPDX-License-Identifier: Apache-2.0
// What the commands include, parsed once for all of them
// (tools/cmake/Precompiled.cmake).
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
