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

Result<int> intVariable(const char *name) {
  const char *text = std::getenv(name);
  if (!text)
    return usageError("RANK is set and {} is not: set both or none", name);
  int value = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end || value < 0)
    return usageError("{} is '{}', expected a whole number", name, text);
  return value;
}

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

Result<std::optional<Rendezvous>>
rendezvousFromEnvironment(std::chrono::milliseconds timeout) {
  if (!std::getenv("RANK"))
    return std::optional<Rendezvous>();
  Rendezvous rendezvous;
  rendezvous.timeout = timeout;
  DLC_ASSIGN(rendezvous.rank, intVariable("RANK"));
  DLC_ASSIGN(rendezvous.size, intVariable("WORLD_SIZE"));
  if (rendezvous.rank >= rendezvous.size)
    return usageError("RANK is {}, expected less than WORLD_SIZE = {}",
                      rendezvous.rank, rendezvous.size);
  if (const char *folder = std::getenv("DLC_RENDEZVOUS")) {
    rendezvous.folder = folder;
  } else if (rendezvous.size > 1) {
    const char *address = std::getenv("MASTER_ADDR");
    if (!address)
      return usageError("RANK is set and MASTER_ADDR is not");
    rendezvous.address = address;
    DLC_ASSIGN(int port, intVariable("MASTER_PORT"));
    rendezvous.port = port + 1;
  }
  return std::optional(rendezvous);
}

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
  for (int restarts = 0;; ++restarts) {
    LocalRanks ranks(fmt::format("{}/{}", folder.path, restarts), places,
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
