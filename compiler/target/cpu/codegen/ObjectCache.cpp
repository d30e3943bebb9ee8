// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/ObjectCache.h"
#include "runtime/base/files/Atomic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>

namespace dlc {

ObjectCache::ObjectCache(llvm::StringRef folder, const llvm::Module &module,
                         const CpuTarget &target, unsigned optLevel) {
  if (folder.empty())
    return;
  std::string key =
      (target.cpu + " " + llvm::join(target.features, ",") + " O" +
       llvm::Twine(optLevel) + " " + LLVM_VERSION_STRING "\n")
          .str();
  llvm::raw_string_ostream os(key);
  llvm::WriteBitcodeToFile(module, os);
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(key));
  llvm::SmallString<128> file(folder);
  llvm::sys::path::append(file, llvm::toHex(hash, /*LowerCase=*/true) + ".o");
  path = file.str().str();
}

/// Appends a hash of the entry.
static std::string seal(llvm::StringRef bytes) {
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes));
  return std::string(hash.begin(), hash.end());
}

bool ObjectCache::find(ObjectBytes &object) const {
  if (path.empty())
    return false;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return false;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (bytes.size() < 32 || seal(bytes.drop_back(32)) != bytes.take_back(32))
    return false;
  bytes = bytes.drop_back(32);
  object.assign(bytes.begin(), bytes.end());
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // for prune()
  return true;
}

void ObjectCache::store(const ObjectBytes &object) const {
  if (path.empty() || !makeFolder(parentOf(path), 0700).ok())
    return;
  llvm::StringRef bytes(object.data(), object.size());
  // Without the entry the object is compiled again.
  (void)writeFileAtomically(path, bytes.str() + seal(bytes)).ok();
}

void ObjectCache::prune(llvm::StringRef folder, uint64_t most) {
  namespace fs = std::filesystem;
  struct Entry {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::error_code error; // another process may remove entries, too
  for (fs::directory_iterator at(folder.str(), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    Entry entry{at->last_write_time(gone), 0, at->path()};
    if (!gone)
      entry.bytes = at->file_size(gone);
    if (!gone && entry.path.extension() == ".o")
      entries.push_back(std::move(entry));
  }
  llvm::sort(entries,
             [](const Entry &a, const Entry &b) { return a.used > b.used; });
  uint64_t bytes = 0;
  for (const Entry &entry : entries)
    if ((bytes += entry.bytes) > most)
      fs::remove(entry.path, error);
}

} // namespace dlc
