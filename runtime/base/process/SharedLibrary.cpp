// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/SharedLibrary.h"

#include <dlfcn.h>
#include <link.h>

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
  std::string tried;
  for (const char *name : names) {
    if (void *handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return SharedLibrary(handle, pathOf(handle, name));
    tried += fmt::format("{}{}", tried.empty() ? "" : "; ", ::dlerror());
  }
  return incompatible("cannot load {}, {}: {}; install it or add its folder to "
                      "LD_LIBRARY_PATH",
                      *names.begin(), purpose, tried);
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

} // namespace dlc
