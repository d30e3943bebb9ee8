// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/PictureList.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/data/pictures/Folder.h"

namespace dlc {
namespace {

class PictureList final : public Pictures {
public:
  std::vector<std::string> paths;

  std::string name() const override {
    return paths.size() == 1
               ? paths[0]
               : fmt::format("{} and {} others", paths[0], paths.size() - 1);
  }
  int64_t count() const override { return int64_t(paths.size()); }
  std::string nameOf(int64_t index) const override {
    return paths[size_t(index)];
  }
  Result<SharedBytes> read(int64_t index) const override {
    return readPictureFile(paths[size_t(index)]);
  }
  Result<std::string> hash() const override {
    Sha256 sum;
    for (const std::string &path : paths)
      sum.add(path.c_str(), path.size() + 1);
    return sum.digest();
  }
};

} // namespace

Result<std::shared_ptr<const Pictures>>
openPictureList(const std::vector<std::string> &paths) {
  auto list = std::make_shared<PictureList>();
  for (const std::string &path : paths) {
    if (!isFolder(path)) {
      list->paths.push_back(path);
      continue;
    }
    DLC_ASSIGN(const auto folder, openPictureFolder(path));
    for (int64_t i = 0; i < folder->count(); ++i)
      list->paths.push_back(folder->nameOf(i));
  }
  if (list->paths.empty())
    return failed("no names of pictures");
  return list;
}

} // namespace dlc
