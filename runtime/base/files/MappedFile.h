// SPDX-License-Identifier: Apache-2.0
// Read-only mapped files, and files that shrink while they are mapped: reading
// a page beyond the end of its file raises SIGBUS, which would end the process.
// Here the missing pages read as zeros, and the error is recorded.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace dlc {

// "a FIFO", "a folder", ...
std::string_view kindOfFile(mode_t mode);

// An open file and its size in bytes; the caller closes the descriptor.
// Code::Failed, without blocking, for anything but a plain file, such as a FIFO
// or a device.
struct OpenFile {
  Descriptor file;
  uint64_t size = 0;
};
Result<OpenFile> openToRead(const std::string &path);

// The file's bytes until unmapFile(), `size` > 0. The descriptor may be closed
// afterwards. `name` is the file's name in messages. From the first call on
// this process handles SIGBUS: other faults are passed to the previous handler.
Result<const std::byte *> mapFile(int descriptor, uint64_t size,
                                  const std::string &name);
void unmapFile(const std::byte *data, uint64_t size);

// A hint that mapped bytes are not needed soon: they no longer count as this
// process's memory, and are read from the file again when needed.
void releaseMapped(const std::byte *data, uint64_t size);

// Code::Failed, naming the file, once a mapped file has lost bytes that were
// read: results since then are invalid. The error stays, also after the file is
// closed. Check before using results; costs one load. Any thread.
Status mappedFilesStatus();

} // namespace dlc
