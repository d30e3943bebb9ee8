// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/MappedFile.h"

#include "runtime/base/files/Files.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

namespace dlc {
namespace {

// A slot for a mapping. Slots are reused and never freed, because the handler
// walks them without a lock.
struct Place {
  std::atomic<uintptr_t> begin = 0, end = 0; // end is 0: free
  std::atomic<bool> torn = false;
  std::string name; // of the file; written, like size, while free
  uint64_t size = 0;
  Place *next = nullptr;     // all slots
  Place *nextFree = nullptr; // free slots
};

std::atomic<Place *> places = nullptr;
std::atomic<bool> anyTorn = false;
std::mutex mutex; // guards the following, and writes to slots
Place *freePlaces = nullptr;
std::unordered_map<const std::byte *, Place *> placeOf; // by address
std::string lost; // a closed file that had lost bytes
struct sigaction before;

// Calls the previous handler of SIGBUS.
void passOn(int signal, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Maps zeros from the missing page to the end of its mapping. The thread that
// read it continues.
void onBusError(int signal, siginfo_t *info, void *context) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Place *place = places; place; place = place->next) {
    const uintptr_t end = place->end;
    if (address < place->begin || address >= end)
      continue;
    const auto pageSize = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t page = address / pageSize * pageSize;
    if (::mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    place->torn = true;
    anyTorn = true;
    errno = error;
    return;
  }
  errno = error;
  passOn(signal, info, context);
}

void handleBusErrors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &before);
  });
}

Place *takePlace() {
  if (Place *place = freePlaces) {
    freePlaces = place->nextFree;
    return place;
  }
  auto *place = new Place;
  place->next = places;
  places = place;
  return place;
}

std::string textOf(const Place &place) {
  return fmt::format("'{}' became shorter, or could not be read, while it was "
                     "in use: it had {} bytes when it was opened",
                     place.name, place.size);
}

} // namespace

std::string_view kindOfFile(mode_t mode) {
  return S_ISREG(mode)                    ? "a file"
         : S_ISDIR(mode)                  ? "a folder"
         : S_ISLNK(mode)                  ? "a symbolic link"
         : S_ISFIFO(mode)                 ? "a FIFO"
         : S_ISSOCK(mode)                 ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                          : "not a file";
}

Result<OpenFile> openToRead(const std::string &path) {
  Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  if (!file) {
    const Status error = systemError("open", path);
    // Things that cannot be opened may not be files, such as sockets.
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      return failed("'{}' is {}, expected a file", path,
                    kindOfFile(info.st_mode));
    return error;
  }
  if (::fstat(file.number(), &info) != 0)
    return systemError("read", path);
  if (!S_ISREG(info.st_mode))
    return failed("'{}' is {}, expected a file", path,
                  kindOfFile(info.st_mode));
  return OpenFile{std::move(file), uint64_t(info.st_size)};
}

Result<const std::byte *> mapFile(int descriptor, uint64_t size,
                                  const std::string &name) {
  handleBusErrors();
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    return systemError("map", name);
  std::lock_guard lock(mutex);
  Place *place = takePlace();
  place->name = name;
  place->size = size;
  place->torn = false;
  place->begin = reinterpret_cast<uintptr_t>(data);
  place->end = place->begin + size;
  const auto *bytes = static_cast<const std::byte *>(data);
  placeOf[bytes] = place;
  return bytes;
}

void unmapFile(const std::byte *data, uint64_t size) {
  std::lock_guard lock(mutex);
  const auto found = placeOf.find(data);
  Place *place = found->second;
  placeOf.erase(found);
  if (place->torn && lost.empty())
    lost = textOf(*place);
  place->end = 0;
  place->nextFree = std::exchange(freePlaces, place);
  ::munmap(const_cast<std::byte *>(data), size);
}

void releaseMapped(const std::byte *data, uint64_t size) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size;
  ::madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
}

Status mappedFilesStatus() {
  if (!anyTorn.load(std::memory_order_relaxed))
    return {};
  std::lock_guard lock(mutex);
  for (Place *place = places; lost.empty() && place; place = place->next)
    if (place->end != 0 && place->torn)
      lost = textOf(*place);
  return failed("{}", lost);
}

} // namespace dlc
