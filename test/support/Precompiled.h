// SPDX-License-Identifier: Apache-2.0
// What most test programs include, parsed once for all of them
// (tools/cmake/Precompiled.cmake).
#pragma once

#include "runtime/plan/Precompiled.h"
#include <gtest/gtest.h>
