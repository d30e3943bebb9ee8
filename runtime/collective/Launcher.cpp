#include "runtime/collective/Launcher.h"

#include "runtime/base/Boundary.h"
#include "runtime/base/Files.h"
#include "runtime/base/Log.h"
#include "runtime/collective/LocalRanks.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/ranges.h>
#include <numeric>
#include <unistd.h>

namespace dlc {
namespace {

// A folder while it lives.
struct Scratch {
  std::string path =
      (std::filesystem::temp_directory_path() / "dlc-ranks-XXXXXX").string();
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

// "rank 1 is lost", "ranks 0 and 2 are lost"
std::string textOf(const Ending &ending) {
  if (ending.lost.empty())
    return "the ranks lost each other";
  return fmt::format("rank{} {} {} lost", ending.lost.size() > 1 ? "s" : "",
                     fmt::join(ending.lost, " and "),
                     ending.lost.size() > 1 ? "are" : "is");
}

// Whether those that are left are started again; says so.
bool goesOn(const LostRanks &lost, const Ending &ending, int restarts) {
  if (!lost.goOn || !ending.split || ending.asked)
    return false;
  const int left = static_cast<int>(ending.left.size());
  const std::string note = jobNote(), what = textOf(ending);
  if (note.empty())
    logError(fmt::format("{} before the run began: it ends", what));
  else if (left < lost.fewest)
    logError(fmt::format("{}: {} left, expected at least {} (--min-ranks)",
                         what, left, lost.fewest));
  else if (restarts >= lost.restarts)
    logError(fmt::format("{}: ranks were started again {} times already "
                         "(--max-restarts)",
                         what, restarts));
  else {
    logWarning(fmt::format("{}: {} of {} ranks go on with {} from its newest "
                           "checkpoint",
                           what, left, left + ending.lost.size(), note));
    return true;
  }
  return false;
}

constexpr char kNote[] = "DLC_JOB_NOTE";

} // namespace

std::string jobNote() {
  const char *path = std::getenv(kNote);
  auto text = path ? readFile(path, 1 << 20) : Result<std::string>("");
  return text ? *text : "";
}

Status keepJobNote(const std::string &text) {
  const char *path = std::getenv(kNote);
  if (!path || jobNote() == text)
    return {};
  return writeNewFile(path, text);
}

Result<int> runLocalRanks(int count, const std::vector<std::string> &arguments,
                          const LostRanks &lost) try {
  Scratch folder;
  if (!::mkdtemp(folder.path.data()))
    return failed("cannot create '{}': {}", folder.path, std::strerror(errno));
  ::setenv(kNote, (folder.path + "/note").c_str(), 1);
  std::vector<int> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  const SignalHandlers signals(LocalRanks::remember);
  for (int restarts = 0;; ++restarts) {
    LocalRanks ranks(signals, fmt::format("{}/{}", folder.path, restarts),
                     places,
                     lost.goOn ? std::optional(lost.patience) : std::nullopt);
    DLC_TRY(ranks.start(arguments));
    const Ending ending = ranks.wait();
    if (!goesOn(lost, ending, restarts))
      return ending.code;
    places = ending.left;
  }
} catch (...) {
  return caughtException("the ranks");
}

} // namespace dlc
