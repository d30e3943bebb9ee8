// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/launch/ErrorFile.h"

#include "runtime/base/Json.h"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace dlc {

// torchrun reports the earliest error, in whole seconds, as the cause; a rank
// that has lost another one is not the cause.
static std::time_t timeOf(const Status &status) {
  return std::time(nullptr) + (status.code() == Code::PeerLost ? 1 : 0);
}

void tellLauncher(const Status &status) {
  static std::atomic<bool> told;
  const char *path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (status.ok() || !path || !*path || told.exchange(true))
    return;
  const Json extra = {
      {"py_callstack", status.message()}, // text in torchrun's report
      {"timestamp", std::to_string(timeOf(status))}};
  const Json message = {{"message", status.message()},
                        {"errorCode", static_cast<int>(status.code())},
                        {"extraInfo", extra}};
  const std::string text = dumpJson(Json{{"message", message}}) + "\n";
  // Without the file, the launcher still has the message and the exit code.
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  (void)!::write(file, text.data(), text.size());
  ::close(file);
}

} // namespace dlc
