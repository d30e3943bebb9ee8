// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/PrivateLibrary.h"

#include "runtime/base/options/Environment.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc {

// Creates a file without a name; returns -1 on failure.
static int openNew(PrivateLibrary::Place place) {
  if (place == PrivateLibrary::Place::File)
    return ::open(environment::temporaryFolder().c_str(),
                  O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
#ifdef MFD_EXEC // else newer kernels warn, or forbid execution
  const int file =
      ::memfd_create("dlc-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (file >= 0 || errno != EINVAL)
    return file;
#endif
  return ::memfd_create("dlc-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

static bool fill(int file, PrivateLibrary::Place place,
                 std::string_view bytes) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  return writeAll(file, bytes) && (place == PrivateLibrary::Place::File ||
                                   ::fcntl(file, F_ADD_SEALS, kSeals) == 0);
}

static bool isLibrary(std::string_view bytes) {
  return bytes.starts_with("\x7f"
                           "ELF");
}

Result<PrivateLibrary>
PrivateLibrary::load(std::string_view bytes, std::string name,
                     std::initializer_list<Place> places) {
  if (!isLibrary(bytes))
    return corrupt("'{}' is no shared library", name);
  std::string tried;
  for (const Place place : places) {
    PrivateLibrary library;
    library.name_ = name;
    library.descriptor_ = openNew(place);
    const char *wrong = nullptr;
    if (library.descriptor_ < 0 || !fill(library.descriptor_, place, bytes)) {
      wrong = std::strerror(errno);
    } else {
      const std::string path =
          fmt::format("/proc/self/fd/{}", library.descriptor_);
      library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library.handle_)
        return library;
      wrong = ::dlerror();
    }
    tried += fmt::format(
        "{}{}: {}", tried.empty() ? "" : "; ",
        place == Place::Memory ? "in memory" : environment::temporaryFolder(),
        wrong);
  }
  return failed("cannot load '{}' from a copy of it: {}; is TMPDIR a folder "
                "with room, from which programs may run?",
                name, tried);
}

PrivateLibrary::~PrivateLibrary() {
  if (handle_)
    ::dlclose(handle_);
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void *PrivateLibrary::find(const char *symbol) const {
  return handle_ ? ::dlsym(handle_, symbol) : nullptr;
}

} // namespace dlc
