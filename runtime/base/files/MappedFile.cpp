// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/MappedFile.h"

#include "runtime/base/files/Files.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

namespace dlc {
namespace {

// A place for a mapping. Places are used again and never freed: the handler
// walks them without a lock.
struct Place {
  std::atomic<uintptr_t> begin = 0, end = 0; // end is 0: free
  std::atomic<bool> torn = false;
  std::string name; // of the file; size too: written while it is free
  uint64_t size = 0;
  Place *next = nullptr;     // of all
  Place *nextFree = nullptr; // of those that are free
};

std::atomic<Place *> places = nullptr;
std::atomic<bool> anyTorn = false;
std::mutex mutex; // of what follows, and of changes of places
Place *freePlaces = nullptr;
std::unordered_map<const std::byte *, Place *> placeOf; // by where it begins
std::string lost; // names a file that was torn and is closed
struct sigaction before;

// To whoever handled SIGBUS before.
void passOn(int signal, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Zeros from the missing page to the end of its mapping. The thread that has
// read it goes on.
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
  switch (mode & S_IFMT) {
  case S_IFREG:
    return "a file";
  case S_IFDIR:
    return "a folder";
  case S_IFIFO:
    return "a FIFO";
  case S_IFSOCK:
    return "a socket";
  case S_IFCHR:
  case S_IFBLK:
    return "a device";
  default:
    return "not a file";
  }
}

Result<OpenFile> openToRead(const std::string &path) {
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  if (file < 0) {
    const Status error = systemError("open", path);
    // What cannot be opened may be no file at all, such as a socket.
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      return failed("'{}' is {}, expected a file", path,
                    kindOfFile(info.st_mode));
    return error;
  }
  Status wrong;
  if (::fstat(file, &info) != 0)
    wrong = systemError("read", path);
  else if (!S_ISREG(info.st_mode))
    wrong =
        failed("'{}' is {}, expected a file", path, kindOfFile(info.st_mode));
  if (wrong.ok())
    return OpenFile{file, static_cast<uint64_t>(info.st_size)};
  ::close(file);
  return wrong;
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
