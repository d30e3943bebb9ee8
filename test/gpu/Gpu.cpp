// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Gpu.h"

#include <cstdio>
#include <cstdlib>

namespace dlc::test {

static std::unique_ptr<CudaDevice> device;

CudaDevice &gpu(const TuneOptions &tune) {
  if (!device) {
    auto opened = CudaDevice::create(0, tune);
    if (!opened) {
      fmt::print(stderr, "{}\n", opened.status().message());
      std::exit(1);
    }
    device = *std::move(opened);
  }
  return *device;
}

void closeGpu() { device.reset(); }

int findGpu() {
  auto driver = Driver::open();
  auto context = driver ? GpuContext::create(*driver, 0)
                        : Result<std::unique_ptr<GpuContext>>(driver.status());
  if (context) {
    const GpuProperties &found = (*context)->properties();
    fmt::print("{}, sm_{}, {} MiB, driver for CUDA {}\n", found.name, found.sm,
               found.memory >> 20, (*driver)->versionText());
    return 0;
  }
  const bool none = context.status().code() == Code::Incompatible;
  fmt::print("{}: {}\n", none ? "skipped: no GPU" : "no use of the GPU",
             context.status().message());
  return none ? kSkipped : 1;
}

} // namespace dlc::test
