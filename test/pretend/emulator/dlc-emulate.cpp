// SPDX-License-Identifier: Apache-2.0
// dlc-emulate: runs the GPU form of every kernel of an exec module on the host
// and compares it with the CPU's. DLC_GPU_CODE=ptx: the PTX, not the LLVM IR.
//   dlc-emulate x.mlir [SM] [MOST_ELEMENTS]
#include "Check.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dlc-emulate MODULE [SM] [MOST_ELEMENTS]\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  auto report =
      dlc::test::checkKernels(text.str(), argc > 2 ? argv[2] : "90",
                              argc > 3 ? std::atoll(argv[3]) : INT64_MAX);
  for (const std::string &error : report.errors)
    std::printf("%s\n", error.c_str());
  if (!report.summary.empty())
    std::printf("%s\n", report.summary.c_str());
  std::printf("%ld kernels, %ld runs, %zu errors\n", (long)report.kernels,
              (long)report.runs, report.errors.size());
  return report.errors.empty() && report.runs ? 0 : 1;
}
