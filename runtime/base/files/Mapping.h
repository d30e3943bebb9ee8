// SPDX-License-Identifier: Apache-2.0
// Files mapped to be read, and what happens when one of them shrinks meanwhile:
// reading a page that its file no longer has is a SIGBUS, which would end the
// process. Here the missing pages read as zeros, and the fact is kept.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace dlc {

// "a FIFO", "a folder", ...
std::string_view kindOfFile(mode_t mode);

// A descriptor of a file at `path`, for the caller to close, and its size in
// bytes. Code::Failed at once for anything but a file: a FIFO or a device is
// not waited for.
struct OpenFile {
  int descriptor = -1;
  uint64_t size = 0;
};
Result<OpenFile> openToRead(const std::string &path);

// The file's bytes until unmapFile(), `size` > 0. The descriptor may be closed
// after. `name` is the file's in messages. From the first call on this process
// handles SIGBUS: a fault elsewhere goes on to the handler that was there.
Result<const std::byte *> mapFile(int descriptor, uint64_t size,
                                  const std::string &name);
void unmapFile(const std::byte *data, uint64_t size);

// Mapped bytes that are not needed soon count no longer as this process's
// memory; read again, they come from their file. A hint.
void releaseMapped(const std::byte *data, uint64_t size);

// Code::Failed, naming the file, once a mapped file has lost bytes that were
// read: what was made of them since is of no use, and so it stays, also after
// the file is closed. To be asked before results are used; costs a load. Any
// thread.
Status mappedFilesStatus();

} // namespace dlc
