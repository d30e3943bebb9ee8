// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/SharedLibrary.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

namespace dlc {

static std::string pathOf(void *handle, const char *name) {
  struct link_map *map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name)
    return map->l_name;
  return name;
}

Result<SharedLibrary>
SharedLibrary::open(std::initializer_list<const char *> names,
                    const char *purpose) {
  std::vector<std::string> tried;
  for (const char *name : names) {
    if (void *handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return SharedLibrary(handle, pathOf(handle, name));
    tried.emplace_back(::dlerror());
  }
  return incompatible("cannot load {}, {}: {}; install it or add its folder to "
                      "LD_LIBRARY_PATH",
                      *names.begin(), purpose, fmt::join(tried, "; "));
}

void *SharedLibrary::find(const char *symbol) const {
  return ::dlsym(handle_, symbol);
}

Status SharedLibrary::missing(const char *symbol, const std::string &found,
                              const std::string &expected) const {
  return incompatible("{} has no function '{}': it is version {}, expected {} "
                      "or newer",
                      path_, symbol, found, expected);
}

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

static bool fill(int file, PrivateLibrary::Place place,
                 std::string_view bytes) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  return writeAll(file, bytes) == bytes.size() &&
         (place == PrivateLibrary::Place::File ||
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
  std::vector<std::string> tried;
  for (const Place place : places) {
    PrivateLibrary library;
    library.name_ = name;
    library.file_ = Descriptor(openNew(place));
    const char *wrong = nullptr;
    if (!library.file_ || !fill(library.file_.number(), place, bytes)) {
      wrong = std::strerror(errno);
    } else {
      const std::string path =
          fmt::format("/proc/self/fd/{}", library.file_.number());
      library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library.handle_)
        return library;
      wrong = ::dlerror();
    }
    tried.push_back(fmt::format(
        "{}: {}",
        place == Place::Memory ? "in memory" : environment::temporaryFolder(),
        wrong));
  }
  return failed("cannot load '{}' from a copy of it: {}; is TMPDIR a folder "
                "with room, from which programs may run?",
                name, fmt::join(tried, "; "));
}

PrivateLibrary::~PrivateLibrary() {
  if (handle_)
    ::dlclose(handle_);
}

void *PrivateLibrary::find(const char *symbol) const {
  return handle_ ? ::dlsym(handle_, symbol) : nullptr;
}

} // namespace dlc
