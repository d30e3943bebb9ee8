#include "compiler/codegen/cpu/Compile.h"
#include "lld/Common/Driver.h"
#include "runtime/base/Leftovers.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace dlc {
namespace {

/// lld reads and writes files: a folder for them that goes away with this
/// object.
struct Folder {
  Folder() {
    error = llvm::sys::fs::createUniqueDirectory("dlc-kernels", path);
    if (!error)
      leftover = Leftover(path.str().str());
  }
  ~Folder() {
    if (!error)
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }
  llvm::SmallString<128> path;
  std::error_code error;
  Leftover leftover;
};

std::error_code write(const std::string &path, llvm::ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return error;
  os.write(bytes.data(), bytes.size());
  os.close();
  error = os.error();
  os.clear_error();
  return error;
}

bool callLinker(llvm::ArrayRef<std::string> arguments, std::string &why) {
  static std::mutex oneAtATime; // lld keeps global state
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
  Folder folder;
  auto fail = [&](const std::string &what, std::error_code error) {
    why = what + ": " + error.message();
    return llvm::failure();
  };
  if (folder.error)
    return fail("cannot make a temporary folder", folder.error);
  std::string output = folder.file("kernels.so");
  std::vector<std::string> arguments = {
      "ld.lld",      "-shared", "-s",  "--hash-style=gnu", "-z", "noexecstack",
      "--threads=1", "-o",      output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(folder.file(llvm::Twine(i) + ".o"));
    if (std::error_code error = write(arguments.back(), objects[i]))
      return fail("cannot write " + arguments.back(), error);
  }
  if (!callLinker(arguments, why))
    return llvm::failure();
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer)
    return fail("cannot read the linker's output", buffer.getError());
  sharedObject.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  return llvm::success();
}

} // namespace dlc
