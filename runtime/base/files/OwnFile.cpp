// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/OwnFile.h"

#include "runtime/base/files/Files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc {

static Status notKind(const std::string &path, std::string_view expected) {
  return failed("'{}' is {}, expected {}", path, kindOfFile(path), expected);
}

Result<int> openOwnFile(const std::string &path, int flags) {
  const int file =
      ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  struct stat found {};
  if (file < 0) {
    const Status status = systemError("open", path);
    return kindOfFile(path) == "a symbolic link" ? notKind(path, "a file")
                                                 : status;
  }
  const bool isPlain = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  if (isPlain && found.st_nlink <= 1)
    return file;
  ::close(file);
  if (!isPlain)
    return notKind(path, "a file");
  {
    DLC_ASSIGN(const MappedFile content, MappedFile::open(path));
    DLC_TRY(writeFileAtomically(path, content.text()));
  }
  return openOwnFile(path, flags);
}

Status makeOwnFolder(const std::string &path) {
  const Status made = makeFolder(path);
  return kindOfFile(path) == "a symbolic link" ? notKind(path, "a folder")
                                               : made;
}

} // namespace dlc
