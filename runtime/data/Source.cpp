// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Source.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/arrays/Advice.h"
#include "runtime/data/lengths/Joined.h"
#include "runtime/data/pictures/Folder.h"
#include "runtime/data/pictures/PictureSource.h"
#include "runtime/data/shards/TarSamples.h"
#include "runtime/data/spool/TableSource.h"
#include "runtime/data/spool/TextFiles.h"
#include "runtime/data/stream/SampleStream.h"
#include "runtime/data/tokens/TokenSource.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

class ArrayRows final : public RowReader {
public:
  explicit ArrayRows(Array array) : array_(std::move(array)) {
    if (array_.rows() > 0)
      stride_ = array_.content.bytes.size() / uint64_t(array_.rows());
  }

  const std::byte *all() const override { return array_.data(); }
  Status read(int64_t row, const TrainingPass *, std::byte *to) const override {
    std::memcpy(to, array_.data() + uint64_t(row) * stride_, stride_);
    return {};
  }

private:
  Array array_;
  uint64_t stride_ = 0;
};

// The error of a file, whose arrays --columns can rename.
Status lacks(const Source &source, const std::string &key) {
  const Status status = noSuchArray(source, key);
  return {status.code(), status.message() + adviceOnNames(source.keys(), key)};
}

class FileSource final : public Source {
public:
  explicit FileSource(ArrayFile file) : file_(std::move(file)) {}

  std::string name() const override { return file_.path(); }
  std::vector<std::string> keys() const override { return file_.keys(); }
  Result<Array> head(const std::string &key) const override {
    return file_.has(key) ? file_.head(key) : lacks(*this, key);
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    if (!file_.has(key))
      return lacks(*this, key);
    DLC_ASSIGN(Array array, file_.read(key));
    return readerOf(std::move(array));
  }
  Result<std::string> hash(int threads) const override {
    return hashData(file_.path(), threads);
  }

private:
  ArrayFile file_;
};

// Tensors of a mapped .safetensors file. The file is not dlc's own, so a
// damaged one is an error of the data.
class TensorSource final : public Source {
public:
  static Result<std::shared_ptr<const Source>> open(const std::string &path) {
    auto file = SafetensorsFile::open(path, true);
    if (!file)
      return Status(Code::Failed, file.status().message());
    return std::make_shared<const TensorSource>(
        path, std::make_shared<const SafetensorsFile>(*std::move(file)));
  }

  TensorSource(std::string path, std::shared_ptr<const SafetensorsFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string name() const override { return path_; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const NamedTensor &tensor : file_->tensors())
      keys.push_back(tensor.name);
    std::ranges::sort(keys);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    const NamedTensor *tensor = file_->find(key);
    return tensor ? Result<Array>(Array{tensor->dtype, tensor->shape, {}})
                  : lacks(*this, key);
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(Array array, head(key));
    const NamedTensor &tensor = *file_->find(key);
    array.content = {{tensor.data, tensor.bytes}, file_};
    if (!tensor.stored.empty()) {
      DLC_ASSIGN(array.content, widened(tensor.stored, array.content));
    }
    return readerOf(std::move(array));
  }
  Result<std::string> hash(int threads) const override {
    return hashData(path_, threads);
  }

private:
  std::string path_;
  std::shared_ptr<const SafetensorsFile> file_;
};

class MemorySource final : public Source {
public:
  MemorySource(std::string name, std::map<std::string, Array> arrays)
      : name_(std::move(name)), arrays_(std::move(arrays)) {}

  std::string name() const override { return name_; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto &[key, array] : arrays_)
      keys.push_back(key);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(const Array *array, find(key));
    return Array{array->dtype, array->shape, {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(const Array *array, find(key));
    return readerOf(*array);
  }
  Result<std::string> hash(int) const override {
    std::string text;
    for (const auto &[key, array] : arrays_)
      text += fmt::format("{} {} {}\n", key, describe(array.dtype, array.shape),
                          sha256(array.content.bytes));
    return sha256(std::as_bytes(std::span(text)));
  }

private:
  Result<const Array *> find(const std::string &key) const {
    const auto found = arrays_.find(key);
    if (found == arrays_.end())
      return noSuchArray(*this, key);
    return &found->second;
  }

  std::string name_;
  std::map<std::string, Array> arrays_;
};

} // namespace

const std::vector<int64_t> *shapeOfFirst(std::span<const SampleInput> inputs) {
  for (const SampleInput &input : inputs)
    if (!input.isLabel)
      return &input.shape;
  return nullptr;
}

std::shared_ptr<const RowReader> readerOf(Array array) {
  return std::make_shared<const ArrayRows>(std::move(array));
}

std::shared_ptr<const RowReader>
readerBy(std::function<Status(int64_t, const TrainingPass *, std::byte *)> f) {
  class FunctionRows final : public RowReader {
  public:
    explicit FunctionRows(decltype(f) read) : read_(std::move(read)) {}
    Status read(int64_t row, const TrainingPass *pass,
                std::byte *to) const override {
      return read_(row, pass, to);
    }

  private:
    decltype(f) read_;
  };
  return std::make_shared<const FunctionRows>(std::move(f));
}

std::unique_ptr<SampleStream> Source::stream() const { return nullptr; }

bool Source::has(const std::string &key) const {
  const auto all = keys();
  return std::ranges::count(all, key) > 0;
}

Status noSuchArray(const Source &source, const std::string &key) {
  const std::string found = fmt::format("{}", fmt::join(source.keys(), ", "));
  return failed("'{}' has no array '{}', found: {}", source.name(), key,
                printable(found));
}

Result<std::shared_ptr<const Source>> openSource(const std::string &path,
                                                 const SampleOptions &options) {
  if (path.ends_with(".bin")) {
    DLC_ASSIGN(auto files, expandRange(path));
    return tokenSource(path, std::move(files));
  }
  if (isText(path, options))
    return openText(path, options);
  if (options.pack &&
      !path.ends_with(".safetensors")) // may be from dlc-data pack
    return usageError("--pack is for text (.txt, .jsonl), found '{}'", path);
  if (isTable(path))
    return openTable(path, options);
  if (path.ends_with(".safetensors")) {
    DLC_ASSIGN(auto tensors, TensorSource::open(path));
    return renamed(std::move(tensors), options.columns);
  }
  if (isShards(path)) {
    DLC_ASSIGN(auto pictures, openShards(path));
    return pictureSource(std::move(pictures), options.badSamples);
  }
  if (isFolder(path)) {
    DLC_ASSIGN(auto pictures, openPictureFolder(path));
    return pictureSource(std::move(pictures), options.badSamples);
  }
  DLC_TRY(refuseForeign(path));
  DLC_ASSIGN(ArrayFile file, ArrayFile::open(path));
  return renamed(std::make_shared<const FileSource>(std::move(file)),
                 options.columns);
}

std::vector<std::string> pathsIn(const std::string &list) {
  const std::vector<std::string> words = splitAtCommas(list);
  std::vector<std::string> paths;
  for (size_t first = 0; first < words.size();) {
    size_t last = first;
    std::string path = words[first];
    while (!exists(path) && last + 1 < words.size())
      path += "," + words[++last];
    if (!exists(path))
      path = words[last = first];
    paths.push_back(path);
    first = last + 1;
  }
  return paths;
}

Result<std::vector<std::shared_ptr<const Source>>>
openSources(const std::string &list, const SampleOptions &options) {
  std::vector<std::shared_ptr<const Source>> sources;
  std::vector<std::string> paths;
  for (const std::string &path : pathsIn(list))
    if (!paths.empty() && isTable(paths.back()) && isTable(path))
      paths.back() += "," + path; // one table
    else
      paths.push_back(path);
  for (const std::string &path : paths) {
    DLC_ASSIGN(sources.emplace_back(), openSource(path, options));
  }
  if (sources.empty()) // reports an empty path
    return openSource(list, options).status();
  return sources;
}

std::shared_ptr<const Source> sourceOf(std::string name,
                                       std::map<std::string, Array> arrays) {
  return std::make_shared<const MemorySource>(std::move(name),
                                              std::move(arrays));
}

} // namespace dlc
