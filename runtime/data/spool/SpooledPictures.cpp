// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/SpooledPictures.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

class SpooledPictures final : public Pictures {
public:
  SpooledPictures(std::shared_ptr<const SpooledFile> made, std::string name,
                  std::vector<std::string> files, std::string hash)
      : made_(std::move(made)), name_(std::move(name)),
        files_(std::move(files)), hash_(std::move(hash)) {}

  Status open() {
    DLC_ASSIGN(auto file, SafetensorsFile::open(made_->path()));
    file_ = std::make_shared<const SafetensorsFile>(std::move(file));
    const NamedTensor *pictures = file_->find("pictures");
    if (!pictures || pictures->dtype != DType::U8)
      return damaged();
    bytes_ = {pictures->data, pictures->bytes};
    DLC_TRY(readNumbers("offsets", offsets_));
    DLC_TRY(readNumbers("labels", labels_));
    if (offsets_.empty() || offsets_.front() != 0 ||
        offsets_.back() != int64_t(bytes_.size()) ||
        !std::is_sorted(offsets_.begin(), offsets_.end()) ||
        (!labels_.empty() && labels_.size() != size_t(count())))
      return damaged();
    DLC_TRY(readMetadata());
    return count() > 0 ? Status() : failed("'{}' has no samples", name_);
  }

  std::string name() const override { return name_; }
  int64_t count() const override { return int64_t(offsets_.size()) - 1; }
  std::string nameOf(int64_t index) const override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (index < rows_[i])
        return fmt::format("{} row {}", files_[i], index);
      index -= rows_[i];
    }
    return name_;
  }
  Result<SharedBytes> read(int64_t index) const override {
    const auto at = size_t(index);
    return lentBytes(bytes_.subspan(size_t(offsets_[at]),
                                    size_t(offsets_[at + 1] - offsets_[at])),
                     file_);
  }
  Result<std::string> hash() const override { return hash_; }

private:
  Status damaged() const {
    return failed("'{}', the cached result for '{}', is damaged: remove it",
                  made_->path(), name_);
  }

  Status readNumbers(const char *key, std::vector<int64_t> &numbers) const {
    const NamedTensor *tensor = file_->find(key);
    if (!tensor || tensor->dtype != DType::I64)
      return damaged();
    numbers.resize(tensor->bytes / sizeof(int64_t));
    if (!numbers.empty())
      std::memcpy(numbers.data(), tensor->data, tensor->bytes);
    return {};
  }

  Result<Json> metadata(const char *key) const {
    const auto found = file_->metadata().find(key);
    return found == file_->metadata().end() ? Result<Json>(damaged())
                                            : parseJson(found->second);
  }

  Status readMetadata() {
    DLC_ASSIGN(const Json rows, metadata("rows"));
    for (const Json &row : rows)
      rows_.push_back(row.is_number_integer() ? row.get<int64_t>() : 0);
    DLC_ASSIGN(const Json classes, metadata("classes"));
    for (const Json &name : classes)
      classes_.push_back(name.is_string() ? name.get<std::string>() : "");
    const bool isInside =
        std::all_of(labels_.begin(), labels_.end(), [&](int64_t label) {
          return label >= 0 && label < int64_t(classes_.size());
        });
    if (rows_.size() != files_.size() || (!classes_.empty() && !isInside))
      return damaged();
    DLC_ASSIGN(const Json warnings, metadata("warnings"));
    for (const Json &text : warnings)
      if (text.is_string())
        warning("'{}': {}", name_, text.get<std::string>());
    return {};
  }

  std::shared_ptr<const SpooledFile> made_;
  std::string name_;
  std::vector<std::string> files_;
  std::string hash_;
  std::shared_ptr<const SafetensorsFile> file_;
  std::span<const std::byte> bytes_;
  std::vector<int64_t> offsets_, rows_; // rows_: per file
};

} // namespace

Result<std::shared_ptr<const Pictures>>
spooledPictures(std::shared_ptr<const SpooledFile> made, std::string name,
                std::vector<std::string> files, std::string hash) {
  auto pictures = std::make_shared<SpooledPictures>(
      std::move(made), std::move(name), std::move(files), std::move(hash));
  DLC_TRY(pictures->open());
  return std::shared_ptr<const Pictures>(std::move(pictures));
}

} // namespace dlc
