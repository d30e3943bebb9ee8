// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/Compile.h"
#include "lld/Common/Driver.h"
#include "runtime/base/files/Atomic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace dlc {
namespace {

bool callLinker(llvm::ArrayRef<std::string> arguments, std::string &why) {
  static std::mutex oneAtATime; // lld has global state
  std::lock_guard lock(oneAtATime);
  std::vector<const char *> argv;
  for (const std::string &a : arguments)
    argv.push_back(a.c_str());
  llvm::raw_string_ostream errors(why);
  lld::Result result =
      lld::lldMain(argv, llvm::nulls(), errors, {{lld::Gnu, &lld::elf::link}});
  return result.retCode == 0;
}

} // namespace

llvm::LogicalResult linkSharedObject(llvm::ArrayRef<ObjectBytes> objects,
                                     llvm::SmallVectorImpl<char> &sharedObject,
                                     std::string &why) {
  auto fail = [&](const std::string &what) {
    why = what;
    return llvm::failure();
  };
  auto folder = TemporaryFolder::create("dlc-kernels");
  if (!folder)
    return fail(folder.status().message());
  const std::string output = folder->path() + "/kernels.so";
  std::vector<std::string> arguments = {
      "ld.lld",      "-shared", "-s",  "--hash-style=gnu", "-z", "noexecstack",
      "--threads=1", "-o",      output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(folder->path() + "/" + std::to_string(i) + ".o");
    if (Status status = writeNewFile(arguments.back(),
                                     {objects[i].data(), objects[i].size()});
        !status.ok())
      return fail(status.message());
  }
  if (!callLinker(arguments, why))
    return llvm::failure();
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer)
    return fail("cannot read the linker's output: " +
                buffer.getError().message());
  sharedObject.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  return llvm::success();
}

} // namespace dlc
