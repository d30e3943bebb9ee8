// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/WriteAll.h"

#include <cerrno>
#include <unistd.h>

namespace dlc {

size_t writeAll(int descriptor, std::string_view data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t count =
        ::write(descriptor, data.data() + done, data.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  return done;
}

} // namespace dlc
