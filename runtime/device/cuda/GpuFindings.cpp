// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/Findings.h"
#include "runtime/device/cuda/Libraries.h"
#include "runtime/device/cuda/cublaslt/CublasLt.h"
#include "runtime/device/cuda/driver/Driver.h"

#include "runtime/base/Bytes.h"

#include <filesystem>
#include <fstream>

namespace dlc {
namespace {

std::string firstLine(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Whether the machine has an NVIDIA GPU, with or without a driver: a PCI device
// of vendor 10de and class 03 (displays).
bool hasGpu() {
  std::error_code error;
  for (const auto &device :
       std::filesystem::directory_iterator("/sys/bus/pci/devices", error))
    if (firstLine(device.path() / "vendor") == "0x10de" &&
        firstLine(device.path() / "class").starts_with("0x03"))
      return true;
  return false;
}

struct Gpu {
  CUdevice device = 0;
  std::string name, capability; // "90"
};

Result<Gpu> identifyGpu(const Driver &driver, int ordinal) {
  CUdevice device = 0;
  DLC_TRY(driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  char name[256] = "";
  DLC_TRY(driver.check(driver.cuDeviceGetName(name, sizeof name - 1, device),
                       "cuDeviceGetName"));
  int major = 0, minor = 0;
  DLC_TRY(driver.check(
      driver.cuDeviceGetAttribute(
          &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
      "cuDeviceGetAttribute"));
  DLC_TRY(driver.check(
      driver.cuDeviceGetAttribute(
          &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
      "cuDeviceGetAttribute"));
  return Gpu{device, name, fmt::format("{}{}", major, minor)};
}

Result<Finding> describeGpu(const Driver &driver, int ordinal) {
  DLC_ASSIGN(const Gpu gpu, identifyGpu(driver, ordinal));
  size_t bytes = 0;
  DLC_TRY(driver.check(driver.cuDeviceTotalMem(&bytes, gpu.device),
                       "cuDeviceTotalMem"));
  return Finding{fmt::format("GPU {}", ordinal),
                 fmt::format("{}, --sm={}, {}", gpu.name, gpu.capability,
                             roundBytes(static_cast<double>(bytes)))};
}

void addGpus(Findings &found, const Driver &driver) {
  int count = 0;
  const Status counted =
      driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (!counted.ok() || count == 0) {
    found.push_back({"GPUs", "",
                     counted.ok() ? "the driver shows none: see "
                                    "CUDA_VISIBLE_DEVICES and nvidia-smi"
                                  : counted.message(),
                     hasGpu()});
    return;
  }
  for (int i = 0; i < count; ++i) {
    auto gpu = describeGpu(driver, i);
    found.push_back(gpu ? *std::move(gpu)
                        : Finding{fmt::format("GPU {}", i), "",
                                  gpu.status().message(), true});
  }
}

// 91500 -> "9.15.0"
std::string threeParts(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

// Its path and version; fails if a run could not use it.
Result<std::string> findCudnn(const Driver *driver) {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libcudnn.so.9"},
                                 "which convolutions, attention and "
                                 "--norm=library on GPUs need"));
  auto *cuda =
      reinterpret_cast<size_t (*)()>(library.find("cudnnGetCudartVersion"));
  if (driver && cuda)
    DLC_TRY(driver->checkLibrary(library.path(), cuda()));
  auto *version =
      reinterpret_cast<size_t (*)()>(library.find("cudnnGetVersion"));
  return fmt::format("{} ({})",
                     version ? threeParts(version()) : "of unknown version",
                     library.path());
}

Result<std::string> findCublasLt(const Driver *driver) {
  DLC_ASSIGN(const auto library, CublasLt::open());
  if (driver)
    DLC_TRY(driver->checkLibrary("cuBLASLt",
                                 library->cublasLtGetCudartVersion(), true));
  return threeParts(library->version());
}

Result<std::string> findNvrtc() {
  DLC_ASSIGN(const SharedLibrary library, openNvrtc());
  return library.path();
}

Finding libraryFinding(std::string what, const Result<std::string> &found,
                       bool wanted) {
  return found ? Finding{std::move(what), *found}
               : Finding{std::move(what), "", found.status().message(), wanted};
}

} // namespace

Result<SeenDevices> seeGpus() {
  if (!hasGpu() && !Driver::isInstalled())
    return incompatible("no driver of NVIDIA's GPUs is found (libcuda.so.1)");
  DLC_ASSIGN(const auto driver, Driver::open());
  int count = 0;
  DLC_TRY(driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0)
    return incompatible("the driver shows no GPU: see CUDA_VISIBLE_DEVICES and "
                        "nvidia-smi");
  SeenDevices seen;
  for (int i = 0; i < count; ++i) {
    DLC_ASSIGN(const Gpu gpu, identifyGpu(*driver, i));
    if (i == 0)
      seen.text = fmt::format("{}, CUDA {}", gpu.name, driver->versionText());
    seen.architectures.push_back(gpu.capability);
  }
  return seen;
}

Findings findGpus() {
  auto driver = Driver::open();
  const Driver *opened = driver ? driver->get() : nullptr;
  Findings found;
  if (opened)
    found.push_back(
        {"driver", fmt::format("for CUDA {}", opened->versionText())});
  else
    found.push_back({"driver", "", driver.status().message(), hasGpu()});
  if (opened)
    addGpus(found, *opened);
  const bool wanted = opened != nullptr;
  found.push_back(libraryFinding("cuBLASLt", findCublasLt(opened), wanted));
  found.push_back(libraryFinding("cuDNN", findCudnn(opened), wanted));
  found.push_back(libraryFinding("NVRTC", findNvrtc(), wanted));
  return found;
}

} // namespace dlc
