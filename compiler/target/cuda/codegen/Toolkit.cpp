// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/Toolkit.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/options/Pattern.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace dlc::cuda {
namespace {

std::string inFolder(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return std::string(result);
}

/// The toolkit in `folder`, if there is one.
bool lookIn(llvm::StringRef folder, Toolkit &toolkit) {
  toolkit.ptxas = inFolder(folder, "bin/ptxas");
  if (!fs::can_execute(toolkit.ptxas))
    return false;
  toolkit.libdevice = inFolder(folder, "nvvm/libdevice/libdevice.10.bc");
  if (!fs::exists(toolkit.libdevice))
    toolkit.libdevice.clear();
  return true;
}

std::string readAll(llvm::StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::vector<KernelResources> parse(const std::string &log) {
  static const Pattern entry = *Pattern::parse(
                           "Compiling entry function '([^']+)'"),
                       stack = *Pattern::parse(
                           "(\\d+) bytes stack frame, (\\d+) bytes spill "
                           "stores, (\\d+) bytes spill loads"),
                       registers = *Pattern::parse("Used (\\d+) registers"),
                       shared = *Pattern::parse("(\\d+) bytes smem");
  std::vector<KernelResources> all;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(log).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (auto found = entry.groups(line))
      all.push_back({found->front(), 0, 0, 0, 0, 0});
    if (all.empty())
      continue;
    if (auto found = stack.groups(line)) {
      all.back().stack = std::stoll((*found)[0]);
      all.back().stores = std::stoll((*found)[1]);
      all.back().loads = std::stoll((*found)[2]);
    }
    if (auto found = registers.groups(line))
      all.back().registers = std::stoll(found->front());
    if (auto found = shared.groups(line))
      all.back().shared = std::stoll(found->front());
  }
  return all;
}

} // namespace

llvm::FailureOr<Toolkit> findToolkit(llvm::StringRef folder, std::string &why) {
  std::string asked = folder.str(), by = "--cuda-path";
  if (const auto named = environment::cudaToolkit(); named && asked.empty())
    asked = named->path, by = named->variable;
  Toolkit toolkit;
  const std::string wayOut = "; install the CUDA Toolkit or the Python package "
                             "nvidia-cuda-nvcc, or name its folder with "
                             "--cuda-path";
  if (!asked.empty()) {
    if (lookIn(asked, toolkit))
      return toolkit;
    why =
        "no program '" + toolkit.ptxas + "', where " + by + " points" + wayOut;
    return llvm::failure();
  }
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    llvm::SmallString<128> real;
    fs::real_path(*found, real);
    if (lookIn(path::parent_path(path::parent_path(real)), toolkit))
      return toolkit;
  }
  if (lookIn(DLC_CUDA_FOLDER, toolkit))
    return toolkit;
  why = "no ptxas in PATH, CUDA_HOME or CUDA_PATH" + wayOut;
  return llvm::failure();
}

llvm::FailureOr<Cubin> assemble(const Toolkit &toolkit, llvm::StringRef ptx,
                                llvm::StringRef arch, std::string &why) {
  auto folder = TemporaryFolder::create("dlc-ptxas");
  if (!folder) {
    why = folder.status().message();
    return llvm::failure();
  }
  std::string in = inFolder(folder->path(), "kernels.ptx"),
              out = inFolder(folder->path(), "kernels.cubin"),
              log = inFolder(folder->path(), "log");
  if (Status status = writeNewFile(in, {ptx.data(), ptx.size()});
      !status.ok()) {
    why = status.message();
    return llvm::failure();
  }
  std::string target = "-arch=" + arch.str();
  llvm::StringRef arguments[] = {toolkit.ptxas, target, "-v", "-O3",
                                 "-o",          out,    in};
  std::optional<llvm::StringRef> redirects[] = {"", log, log};
  std::string failed;
  int code = llvm::sys::ExecuteAndWait(toolkit.ptxas, arguments, std::nullopt,
                                       redirects, 0, 0, &failed);
  std::string words = readAll(log);
  auto bytes = llvm::MemoryBuffer::getFile(out);
  if (code != 0 || !bytes) {
    why = "ptxas for " + arch.str() + " failed: " + failed +
          llvm::StringRef(words).rtrim().str();
    return llvm::failure();
  }
  Cubin cubin;
  cubin.bytes.assign((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  cubin.resources = parse(words);
  return cubin;
}

} // namespace dlc::cuda
