// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Folder.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/DataFiles.h"

#include <algorithm>
#include <filesystem>

namespace dlc {
namespace {

namespace fs = std::filesystem;

struct PictureFile {
  std::string path; // relative to the folder
  uint64_t size = 0;
};

class PictureFiles final : public Pictures {
public:
  using Pictures::classes_, Pictures::labels_;

  std::string title, folder; // folder: "" or "FOLDER/"
  std::vector<PictureFile> files;

  std::string name() const override { return title; }
  int64_t count() const override { return int64_t(files.size()); }
  std::string nameOf(int64_t index) const override {
    return folder + files[size_t(index)].path;
  }
  Result<SharedBytes> read(int64_t index) const override {
    return readPictureFile(nameOf(index));
  }
  Result<std::string> hash() const override {
    Sha256 sum;
    for (const PictureFile &file : files) {
      const std::string line = fmt::format("{} {}\n", file.size, file.path);
      sum.add(line.data(), line.size());
    }
    return sum.digest();
  }
};

bool endsInOneOf(std::string_view name,
                 std::span<const std::string_view> endings) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos)
    return false;
  const std::string ending = lowerCase(std::string(name.substr(dot + 1)));
  return std::ranges::count(endings, ending) > 0;
}

constexpr std::string_view kRead[] = {"jpg", "jpeg", "png", "webp"};
// Extensions of pictures that are not supported but may be among samples.
constexpr std::string_view kNotRead[] = {"bmp", "tif", "tiff", "ppm",  "pgm",
                                         "pbm", "gif", "avif", "heic", "jfif",
                                         "jpe", "jp2", "jxl"};

// Collects the pictures below a folder.
class Collector {
public:
  explicit Collector(fs::path root)
      : root_(std::move(root)), real_(fs::canonical(root_)) {}

  // Entries of a folder, sorted, without hidden names.
  std::vector<fs::directory_entry> list(const fs::path &folder) const {
    std::vector<fs::directory_entry> entries;
    for (const auto &entry : fs::directory_iterator(folder))
      if (!entry.path().filename().string().starts_with('.'))
        entries.push_back(entry);
    std::ranges::sort(
        entries, {},
        [](auto &entry) -> auto & { return entry.path().native(); });
    return entries;
  }

  Status checkLink(const fs::directory_entry &entry) const {
    if (!entry.is_symlink())
      return {};
    const fs::path target = fs::canonical(entry.path());
    const auto [end, at] =
        std::mismatch(real_.begin(), real_.end(), target.begin(), target.end());
    if (end == real_.end())
      return {};
    return failed("'{}' is a link out of '{}', to '{}': copy the link's "
                  "target, or name its folder",
                  entry.path().string(), root_.string(), target.string());
  }

  // Recursive if `below`; links to folders are not followed there.
  Status collect(const fs::path &folder, bool below,
                 std::vector<PictureFile> &files) {
    for (const auto &entry : list(folder)) {
      if (entry.is_directory()) {
        if (below && !entry.is_symlink())
          DLC_TRY(collect(entry.path(), true, files));
        continue;
      }
      const std::string name = entry.path().filename().string();
      if (!isPictureName(name)) {
        if (endsInOneOf(name, kNotRead) && ++notRead_ == 1)
          firstNotRead_ = entry.path().string();
        continue;
      }
      DLC_TRY(checkLink(entry));
      if (!entry.is_regular_file())
        return failed("'{}' is no file", entry.path().string());
      files.push_back(
          {entry.path().lexically_relative(root_).string(), entry.file_size()});
    }
    return {};
  }

  void warnOfNotRead() const {
    if (notRead_)
      warning("'{}': {} pictures that are not .jpg, .jpeg, .png or .webp are "
              "skipped, the first: '{}'; convert or remove them",
              root_.string(), notRead_, firstNotRead_);
  }

private:
  fs::path root_, real_;
  int64_t notRead_ = 0;
  std::string firstNotRead_;
};

// For a folder without pictures: mentions other samples in it.
std::string adviceOnOthers(const Collector &collector,
                           const std::string &folder) {
  constexpr std::string_view kOthers[] = {".npz", ".npy",     ".safetensors",
                                          ".csv", ".parquet", ".bin"};
  for (const auto &entry : collector.list(folder)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view ending : kOthers)
      if (name.ends_with(ending))
        return fmt::format("; it has '{}': name the file, or several as in "
                           "{}/a-{{000..127}}{}",
                           name, folder, ending);
    if (const Status status = refuseForeign(entry.path().string()); !status)
      return "; " + status.message();
  }
  return "";
}

Status collectClasses(Collector &collector, PictureFiles &folder) {
  for (const auto &entry : collector.list(folder.title)) {
    if (!entry.is_directory())
      continue;
    DLC_TRY(collector.checkLink(entry));
    DLC_TRY(collector.collect(entry.path(), true, folder.files));
    if (folder.files.size() == folder.labels_.size())
      return failed("'{}' has no pictures, expected .jpg, .jpeg, .png or .webp "
                    "for each class",
                    entry.path().string());
    folder.labels_.resize(folder.files.size(), int64_t(folder.classes_.size()));
    folder.classes_.push_back(entry.path().filename().string());
  }
  return {};
}

// An error for folders of inputs and targets (such as masks) side by side,
// which are not classes.
Status checkNoTargets(const std::string &path) {
  for (const auto &[targets, command] :
       {std::pair("masks", "masks"), std::pair("labels", "boxes")})
    if (isFolder(path + "/images") && isFolder(path + "/" + targets))
      return failed("'{0}' has folders images and {1}, which are no classes: "
                    "dlc-data {2} {0}/{1} --images={0}/images --size=H,W -o "
                    "data.safetensors makes arrays of them",
                    path, targets, command);
  return {};
}

// An error for folders train and val with subfolders, which are not classes.
Status checkNoSplit(const Collector &collector, const PictureFiles &folder) {
  constexpr std::string_view kParts[] = {"train", "training",   "val",
                                         "valid", "validation", "test"};
  std::string train, val;
  for (const std::string &name : folder.classes_) {
    const auto inside = collector.list(folder.folder + name);
    const bool isPart = std::ranges::count(kParts, name) > 0 &&
                        std::ranges::any_of(inside, [](const auto &entry) {
                          return entry.is_directory();
                        });
    if (!isPart)
      return {};
    (name.starts_with("train") ? train : val) = name;
  }
  if (train.empty() || val.empty())
    return {};
  return failed("'{0}' has folders {1} and {2}, which are parts of the data, "
                "not classes: --data={0}/{1} --val={0}/{2}",
                folder.title, train, val);
}

} // namespace

bool isPictureName(std::string_view name) { return endsInOneOf(name, kRead); }

Result<std::shared_ptr<const Pictures>>
openPictureFolder(const std::string &path) try {
  auto folder = std::make_shared<PictureFiles>();
  folder->title = path;
  while (folder->title.size() > 1 && folder->title.ends_with('/'))
    folder->title.pop_back();
  folder->folder = folder->title + "/";
  Collector collector(folder->title);
  DLC_TRY(checkNoTargets(folder->title));
  DLC_TRY(collectClasses(collector, *folder));
  DLC_TRY(checkNoSplit(collector, *folder));
  if (folder->classes_.empty())
    DLC_TRY(collector.collect(folder->title, false, folder->files));
  if (folder->files.empty())
    return failed("'{}' has no pictures, expected a folder of .jpg, .jpeg, "
                  ".png or .webp for each class{}",
                  path, adviceOnOthers(collector, folder->title));
  collector.warnOfNotRead();
  return folder;
} catch (const fs::filesystem_error &error) {
  return failed("cannot read the folder '{}': {}: '{}'", path,
                error.code().message(), error.path1().string());
}

Result<std::shared_ptr<const Pictures>>
openPictureList(const std::vector<std::string> &paths) {
  auto list = std::make_shared<PictureFiles>();
  for (const std::string &path : paths) {
    if (!isFolder(path)) {
      list->files.push_back({path});
      continue;
    }
    DLC_ASSIGN(const auto folder, openPictureFolder(path));
    for (int64_t i = 0; i < folder->count(); ++i)
      list->files.push_back({folder->nameOf(i)});
  }
  if (list->files.empty())
    return failed("no names of pictures");
  list->title = list->files[0].path;
  if (list->count() > 1)
    list->title += fmt::format(" and {} others", list->count() - 1);
  return list;
}

} // namespace dlc
