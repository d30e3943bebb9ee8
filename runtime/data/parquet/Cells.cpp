// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/Cells.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc {

Cells::~Cells() {
  if (data_)
    ::munmap(data_, bytes_);
}

void Cells::release(std::span<const std::byte> some) const {
  if (isInFile_ && !some.empty())
    releaseMapped(some.data(), some.size());
}

Result<Cells> Cells::make(uint64_t count, uint64_t held) {
  const auto bytes = checkedMul(count, sizeof(uint64_t));
  if (!bytes || *bytes > uint64_t(1) << 46)
    return limitExceeded("a table of {} numbers is too large", count);
  Cells cells;
  if (*bytes == 0)
    return cells;
  const bool isHeld = *bytes <= held;
  int file = -1;
  if (isHeld) {
    DLC_TRY(checkMemory(*bytes, "a decoded table"));
  } else {
    const char *variable = std::getenv("TMPDIR");
    const char *folder = variable && *variable ? variable : "/tmp";
    file = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // All of it now: a full disk would be felt only when a page is written.
    const int error =
        file < 0 ? errno : ::posix_fallocate(file, 0, off_t(*bytes));
    if (error) {
      if (file >= 0)
        ::close(file);
      return failed("a table decoded takes {}, for which '{}' has no file: {}; "
                    "TMPDIR names another folder",
                    roundBytes(double(*bytes)), folder, std::strerror(error));
    }
  }
  void *data =
      ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE,
             isHeld ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
  if (file >= 0)
    ::close(file);
  if (data == MAP_FAILED)
    return limitExceeded("a table decoded takes {}, found: {}",
                         roundBytes(double(*bytes)), std::strerror(errno));
  cells.data_ = static_cast<uint64_t *>(data), cells.bytes_ = *bytes;
  cells.isInFile_ = !isHeld;
  return cells;
}

} // namespace dlc
