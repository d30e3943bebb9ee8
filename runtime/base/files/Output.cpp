// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Output.h"

#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace dlc {

static int firstError = 0;

static bool hasReader() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) != 1 || !(out.revents & POLLERR);
}

void printText(std::string_view raw) {
  const std::string text = withoutControls(raw);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() &&
      !firstError)
    firstError = errno;
}

void flushOutput() {
  if (std::fflush(stdout) != 0 && !firstError)
    firstError = errno;
}

int finishOutput(int code) {
  flushOutput();
  if (!firstError && !std::ferror(stdout))
    return code;
  if (code == 0 && (firstError == EPIPE || !hasReader()))
    return 128 + SIGPIPE;
  if (firstError != EPIPE)
    logError(fmt::format("cannot write to stdout: {}",
                         std::strerror(firstError ? firstError : EIO)));
  return code ? code : int(Code::Failed);
}

} // namespace dlc
