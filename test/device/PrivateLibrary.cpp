// SPDX-License-Identifier: Apache-2.0
// Kernels whose file is gone, cut or another one by now.
#include "runtime/base/files/Files.h"
#include "runtime/base/process/SharedLibrary.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace dlc {

using Place = PrivateLibrary::Place;

static std::string kernels() {
  auto bytes = readFile(DLC_TEST_KERNELS);
  return bytes.ok() ? *bytes : std::string();
}

TEST(PrivateLibrary, RunsFromAnyPlace) {
  for (const Place place : {Place::Memory, Place::File}) {
    auto library = PrivateLibrary::load(kernels(), "k.so", {place});
    ASSERT_TRUE(library.ok()) << library.status().message();
    EXPECT_NE(library->find("addInput"), nullptr);
    EXPECT_EQ(library->find("nowhere"), nullptr);
    EXPECT_EQ(library->name(), "k.so");
  }
}

// The loader knows a library by the number of a descriptor, and numbers are
// used again.
TEST(PrivateLibrary, EachIsItsOwn) {
  std::optional<PrivateLibrary> all[3];
  for (int turn = 0; turn < 12; ++turn) {
    all[turn % 3].reset();
    auto library = PrivateLibrary::load(kernels(), "k.so");
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (const auto &other : all)
      EXPECT_TRUE(!other ||
                  other->find("addInput") != library->find("addInput"));
    all[turn % 3] = *std::move(library);
  }
}

TEST(PrivateLibrary, SaysWhatIsWrong) {
  EXPECT_EQ(PrivateLibrary::load("kernels", "k.so").status().message(),
            "'k.so' is no shared library");
  EXPECT_EQ(PrivateLibrary::load("", "k.so").status().code(), Code::Corrupt);
  EXPECT_FALSE(PrivateLibrary::load(kernels().substr(0, 100), "k.so").ok());
  const char *before = std::getenv("TMPDIR");
  const std::string folder = before ? before : "";
  ::setenv("TMPDIR", "/nowhere", 1);
  const Status status =
      PrivateLibrary::load(kernels(), "k.so", {Place::File}).status();
  before ? ::setenv("TMPDIR", folder.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_EQ(status.message(),
            "cannot load 'k.so' from a copy of it: /nowhere: No such file or "
            "directory; is TMPDIR a folder with room, from which programs may "
            "run?");
}

TEST(PrivateLibrary, TheFileMayGo) {
  const std::string path =
      std::filesystem::temp_directory_path() / "dlc-private-library.so";
  std::ofstream(path, std::ios::binary) << kernels();
  CpuDevice device(1);
  ASSERT_TRUE(device.loadKernels(path).ok());
  std::ofstream(path, std::ios::trunc); // a mapped file would be gone
  auto kernel = device.kernel("addInput");
  std::filesystem::remove(path);
  ASSERT_TRUE(kernel.ok());
  float x[2] = {1, 2}, y[2] = {};
  void *arguments[] = {x, y};
  (*kernel)(arguments, 0, 2);
  EXPECT_NE(y[1], 0);
}

} // namespace dlc
