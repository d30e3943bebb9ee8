// SPDX-License-Identifier: Apache-2.0
// Precompiled header of most test programs (tools/cmake/Precompiled.cmake).
#pragma once

#include "runtime/plan/Precompiled.h"
#include <gtest/gtest.h>
