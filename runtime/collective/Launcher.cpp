// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Launcher.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/LocalRanks.h"
#include "runtime/collective/Socket.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fmt/ranges.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc {
namespace {

// "rank 1 is lost", "ranks 0 and 2 are lost"
std::string textOf(const Ending &ending) {
  if (ending.lost.empty())
    return "the ranks lost each other";
  return fmt::format("rank{} {} {} lost", ending.lost.size() > 1 ? "s" : "",
                     fmt::join(ending.lost, " and "),
                     ending.lost.size() > 1 ? "are" : "is");
}

// Whether the remaining ranks are restarted; logs the decision.
bool goesOn(const LostRanks &lost, const Ending &ending, int restarts) {
  if (!lost.goOn || !ending.split || ending.asked)
    return false;
  const int left = static_cast<int>(ending.left.size());
  const std::string note = jobNote(), what = textOf(ending);
  if (note.empty())
    logError(fmt::format("{} before the run began: the run ends", what));
  else if (left < lost.fewest)
    logError(fmt::format("{}: {} left, expected at least {} (--min-ranks)",
                         what, left, lost.fewest));
  else if (restarts >= lost.restarts)
    logError(fmt::format(
        "{}: ranks have been restarted {} times already (--max-restarts)", what,
        restarts));
  else {
    logWarning(fmt::format("{}: {} of {} ranks go on with {} from its newest "
                           "checkpoint",
                           what, left, left + ending.lost.size(), note));
    return true;
  }
  return false;
}

// Variable with the descriptor of the note, an anonymous file that the ranks
// inherit: it is freed when the last of them ends.
constexpr char kNote[] = "DLC_JOB_NOTE";

Result<Socket> makeNote() {
  Socket note(::memfd_create("dlc-job-note", 0));
  if (note.descriptor() < 0)
    return failed("cannot make the note of a job: {}", std::strerror(errno));
  ::setenv(kNote, std::to_string(note.descriptor()).c_str(), 1);
  return note;
}

int noteOf() {
  const char *text = std::getenv(kNote);
  int note = -1;
  struct stat info;
  if (!text ||
      std::from_chars(text, text + std::strlen(text), note).ec != std::errc() ||
      ::fstat(note, &info) != 0 || !S_ISREG(info.st_mode))
    return -1;
  return note;
}

} // namespace

std::string jobNote() {
  char text[PATH_MAX];
  const int note = noteOf();
  const ssize_t size = note < 0 ? 0 : ::pread(note, text, sizeof text, 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

Status keepJobNote(const std::string &text) {
  const int note = noteOf();
  if (note < 0 || jobNote() == text)
    return {};
  if (::ftruncate(note, 0) != 0 ||
      ::pwrite(note, text.data(), text.size(), 0) !=
          static_cast<ssize_t>(text.size()))
    return systemError("keep a note of", text);
  return {};
}

Result<int> runLocalRanks(int count, const std::vector<std::string> &arguments,
                          const LostRanks &lost) {
  DLC_ASSIGN(const Socket note, makeNote());
  std::vector<int> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  const SignalHandlers signals(LocalRanks::remember);
  for (int restarts = 0;; ++restarts) {
    LocalRanks ranks(signals, places, lost.goOn, lost.patience);
    DLC_TRY(ranks.start(arguments));
    const Ending ending = ranks.wait();
    if (!goesOn(lost, ending, restarts))
      return ending.code;
    places = ending.left;
  }
}

} // namespace dlc
