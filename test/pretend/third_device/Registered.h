// SPDX-License-Identifier: Apache-2.0
// What runs on the third device have in common: it is registered once.
#pragma once

#include "test/pretend/third_device/device/FakeDevice.h"
#include "test/pretend/third_device/target/FakeTarget.h"
#include "test/unit/TempFolder.h"

namespace dlc::test {

class Registered : public TempFolder {
protected:
  static void SetUpTestSuite() {
    if (llvm::is_contained(targetNames(), "fake"))
      return;
    registerTarget({"fake", makeFakeTarget});
    registerDevice({"fake", makeFakeDevice});
  }
};

} // namespace dlc::test
