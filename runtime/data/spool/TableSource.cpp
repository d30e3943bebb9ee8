// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/TableSource.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/spool/Spool.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace dlc {
namespace {

// Files of the table at `path`.
Result<std::vector<std::string>> filesOfTable(const std::string &path) {
  std::vector<std::string> files;
  for (size_t at = 0; at != path.npos;) {
    const size_t end = exists(path) ? path.npos : path.find(',', at);
    DLC_ASSIGN(const auto some, expandRange(path.substr(at, end - at)));
    files.insert(files.end(), some.begin(), some.end());
    at = end == path.npos ? end : end + 1;
  }
  return files;
}

std::string wordOf(BadSamples bad) {
  return bad == BadSamples::Skip ? "--bad-samples=skip" : "--bad-samples=error";
}

// Runs dlc-data for a table. Thread-safe.
class TableFiles {
public:
  static Result<std::shared_ptr<const TableFiles>>
  open(const std::string &path, const std::string &columns) {
    auto table = std::make_shared<TableFiles>();
    table->path_ = path, table->columns_ = columns;
    DLC_ASSIGN(table->files_, filesOfTable(path));
    return table;
  }

  // The same files with other columns.
  std::shared_ptr<const TableFiles> with(const std::string &columns) const {
    auto table = std::make_shared<TableFiles>();
    table->path_ = path_, table->columns_ = columns;
    table->files_ = files_;
    const std::lock_guard lock(mutex_);
    table->hash_ = hash_;
    return table;
  }

  const std::string &path() const { return path_; }
  const std::vector<std::string> &files() const { return files_; }

  Result<std::string> hash(int threads) const {
    const std::lock_guard lock(mutex_);
    if (hash_.empty()) {
      DLC_ASSIGN(const auto all, hashesOfData(files_, threads));
      hash_ = sha256(std::as_bytes(std::span(all)));
    }
    return hash_;
  }

  Result<std::shared_ptr<const SpooledFile>>
  ask(const std::string &command, std::string ending,
      std::vector<std::string> words = {}) const {
    SpoolJob job{.data = path_,
                 .command = command,
                 .words = std::move(words),
                 .places = {"--name=" + path_},
                 .files = files_,
                 .content = "",
                 .ending = std::move(ending)};
    DLC_ASSIGN(job.content, hash(coresOfProcess()));
    job.words.push_back("--columns=" + columns_);
    return spool(cacheFolder(""), job);
  }

  Result<std::string> askText(const std::string &command,
                              std::vector<std::string> words = {}) const {
    DLC_ASSIGN(const auto file, ask(command, ".json", std::move(words)));
    return readFile(file->path());
  }

private:
  std::string path_, columns_;
  std::vector<std::string> files_;
  mutable std::mutex mutex_;
  mutable std::string hash_;
};

std::vector<std::string> stringsIn(const Json &list) {
  std::vector<std::string> strings;
  for (const Json &entry : list)
    if (entry.is_string())
      strings.push_back(entry.get<std::string>());
  return strings;
}

// Arrays in dlc-data's output.
Result<std::shared_ptr<const Source>>
makeTable(const std::shared_ptr<const TableFiles> &files,
          const SampleOptions &options, std::span<const SampleInput> inputs) {
  std::vector<std::string> words = {"--classes=" +
                                        dumpJson(Json(options.classes)),
                                    wordOf(options.badSamples)};
  Json asked = Json::array();
  for (const SampleInput &input : inputs)
    asked.push_back(
        {{"key", input.key}, {"shape", input.shape}, {"label", input.isLabel}});
  if (!inputs.empty())
    words.push_back("--inputs=" + dumpJson(asked));
  DLC_ASSIGN(auto made, files->ask("rows", ".safetensors", std::move(words)));
  DLC_ASSIGN(const auto file, SafetensorsFile::open(made->path()));
  const auto listOf = [&](const char *key) {
    const auto found = file.metadata().find(key);
    return parseJson(found == file.metadata().end() ? "[]" : found->second);
  };
  DLC_ASSIGN(const Json classes, listOf("classes"));
  DLC_ASSIGN(const Json warnings, listOf("warnings"));
  DLC_ASSIGN(auto table,
             spooledArrays(std::move(made), files->path(), stringsIn(classes),
                           [files](int n) { return files->hash(n); }));
  for (const std::string &text : stringsIn(warnings))
    warning("'{}': {}", files->path(), text);
  return table;
}

// A table whose arrays are made on first use.
class TableSource final : public Source {
public:
  TableSource(std::shared_ptr<const TableFiles> files,
              std::vector<std::string> keys, SampleOptions options)
      : files_(std::move(files)), keys_(std::move(keys)),
        options_(std::move(options)) {}

  std::string name() const override { return files_->path(); }
  std::vector<std::string> keys() const override { return keys_; }
  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(const auto table, made());
    return table->has(key) ? table->head(key) : noSuchArray(*this, key);
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(const auto table, made());
    return table->has(key) ? table->rows(key) : noSuchArray(*this, key);
  }
  Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput> inputs,
         const SampleOptions &options) const override {
    return makeTable(files_->with(options.columns), options, inputs);
  }
  std::vector<std::string> classes() const override {
    const std::lock_guard lock(mutex_);
    return made_ ? made_->classes() : std::vector<std::string>();
  }
  Result<std::string> hash(int threads) const override {
    return files_->hash(threads);
  }

private:
  Result<std::shared_ptr<const Source>> made() const {
    const std::lock_guard lock(mutex_);
    if (!made_) {
      DLC_ASSIGN(made_, makeTable(files_, options_, {}));
    }
    return made_;
  }

  std::shared_ptr<const TableFiles> files_;
  std::vector<std::string> keys_;
  SampleOptions options_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Source> made_; // null: not yet
};

// Encoded pictures of a table, in dlc-data's .safetensors: "pictures", u8,
// concatenated files; "offsets", i64 [N + 1]; "labels", i64 [N] or [0]. Its
// metadata are class names, warnings, and the number of rows from each file.
// The file is mapped. A table row without picture is empty, which is an error
// when it is read.
class SpooledPictures final : public Pictures {
public:
  SpooledPictures(std::shared_ptr<const SpooledFile> made, std::string name,
                  std::vector<std::string> files, std::string hash)
      : made_(std::move(made)), name_(std::move(name)),
        files_(std::move(files)), hash_(std::move(hash)) {}

  // Errors: inconsistent contents.
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
        !std::ranges::is_sorted(offsets_) ||
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
    classes_ = stringsIn(classes);
    const bool isInside = std::ranges::all_of(labels_, [&](int64_t label) {
      return label >= 0 && label < int64_t(classes_.size());
    });
    if (rows_.size() != files_.size() || (!classes_.empty() && !isInside))
      return damaged();
    DLC_ASSIGN(const Json warnings, metadata("warnings"));
    for (const std::string &text : stringsIn(warnings))
      warning("'{}': {}", name_, text);
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

Result<std::shared_ptr<const Pictures>>
openPictures(const std::shared_ptr<const TableFiles> &files) {
  DLC_ASSIGN(auto made, files->ask("rows", ".safetensors"));
  DLC_ASSIGN(auto hash, files->hash(coresOfProcess()));
  auto pictures = std::make_shared<SpooledPictures>(
      std::move(made), files->path(), files->files(), std::move(hash));
  DLC_TRY(pictures->open());
  return pictures;
}

} // namespace

bool isTable(const std::string &path) {
  constexpr std::string_view kEndings[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz",
                                           ".parquet"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return path.ends_with(ending);
  });
}

Result<std::shared_ptr<const Source>> openTable(const std::string &path,
                                                const SampleOptions &options) {
  DLC_ASSIGN(const auto files, TableFiles::open(path, options.columns));
  DLC_ASSIGN(const std::string text, files->askText("columns"));
  DLC_ASSIGN(const Json said, parseJson(text));
  if (said.value("pictures", false)) {
    DLC_ASSIGN(auto pictures, openPictures(files));
    return pictureSource(std::move(pictures), options.badSamples);
  }
  return std::make_shared<const TableSource>(
      files, stringsIn(said.value("keys", Json::array())), options);
}

Result<std::string> surveyTable(const std::string &path, BadSamples bad) {
  DLC_ASSIGN(const auto files, TableFiles::open(path, ""));
  return files->askText("inspect", {wordOf(bad)});
}

Result<std::shared_ptr<const Pictures>>
picturesOfTable(const std::string &path) {
  DLC_ASSIGN(const auto files, TableFiles::open(path, ""));
  return openPictures(files);
}

} // namespace dlc
