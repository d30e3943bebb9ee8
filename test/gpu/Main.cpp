// SPDX-License-Identifier: Apache-2.0
// main() of the GoogleTest programs that need a GPU.
#include "test/gpu/Gpu.h"

#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests))
    if (const int code = dlc::test::findGpu())
      return code;
  const int code = RUN_ALL_TESTS();
  dlc::test::closeGpu();
  return code;
}
