// SPDX-License-Identifier: Apache-2.0
// Named arrays with a sample per row, from a file or a program: the input of a
// data set.
#pragma once

#include "runtime/data/Npy.h"
#include "runtime/data/SampleOptions.h"

#include <functional>
#include <map>
#include <span>

namespace dlc {

// A pass over the samples in training. Random numbers of a sample, such as its
// crop, only depend on these members and its row.
struct TrainingPass {
  uint64_t seed = 0;
  int64_t epoch = 0;
};

// Reads rows of one array. Thread-safe.
class RowReader {
public:
  virtual ~RowReader() = default;

  // All rows if they are in memory: such arrays are read directly and checked
  // before the first step. Else null.
  virtual const std::byte *all() const { return nullptr; }
  // Whether reading rows is as cheap as memory, so that they are also checked
  // before the first step.
  virtual bool isInMemory() const { return all() != nullptr; }
  // Reads row `row`, in [0, rows of the array), to `to`, which has the size of
  // a row. pass == nullptr: evaluation, without random numbers.
  virtual Status read(int64_t row, const TrainingPass *pass,
                      std::byte *to) const = 0;
  // Where the row was read from, for messages; empty if the row number is
  // enough.
  virtual std::string placeOf(int64_t, const TrainingPass *) const {
    return "";
  }
};

// An input that samples must fill.
struct SampleInput {
  std::string key;
  std::vector<int64_t> shape; // of a sample; for labels only the size matters
  bool isLabel = false;
};
// Shape of the first input that is not a label; null if there is none.
const std::vector<int64_t> *shapeOfFirst(std::span<const SampleInput> inputs);

class SampleStream;

class Source {
public:
  virtual ~Source() = default;

  // Name in messages, such as the file's path.
  virtual std::string name() const = 0;
  virtual std::vector<std::string> keys() const = 0;
  // Type and shape of an array with all its rows, without content. Errors name
  // source and key.
  virtual Result<Array> head(const std::string &key) const = 0;
  virtual Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const = 0;
  // For sources without a fixed sample shape (pictures), or with more columns
  // than needed: a source with the same samples in the form of these inputs, at
  // least one of which is not a label. Null if the source has a fixed form.
  virtual Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput>, const SampleOptions &) const {
    return nullptr;
  }
  // Whether the result of shaped() augments samples.
  virtual bool augments() const { return false; }
  // Names of the label classes in order of their numbers; empty if they have
  // none.
  virtual std::vector<std::string> classes() const { return {}; }
  // Whether samples can only be read in order of arrival
  // (stream/SampleStream.h): there are no rows; each stream() starts again.
  virtual bool isStream() const { return false; }
  virtual std::unique_ptr<SampleStream> stream() const;
  // Name of a row, such as its file's path; empty if the row number is enough.
  virtual std::string nameOf(int64_t) const { return ""; }
  // Whether a read of this row failed to decode it and returned another row
  // (BadSamples::Skip).
  virtual bool isReplaced(int64_t) const { return false; }
  // Whether a row is so expensive to read that several threads should.
  virtual bool isSlow() const { return false; }
  // Identifies the samples, between ranks and on resumption: 64 hex digits,
  // computed by `threads` threads.
  virtual Result<std::string> hash(int threads) const = 0;

  bool has(const std::string &key) const;
};

// Forwards to another source; derived classes override parts.
class SourceOver : public Source {
public:
  explicit SourceOver(std::shared_ptr<const Source> source)
      : source_(std::move(source)) {}

  std::string name() const override { return source_->name(); }
  std::vector<std::string> keys() const override { return source_->keys(); }
  Result<Array> head(const std::string &key) const override {
    return source_->head(key);
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    return source_->rows(key);
  }
  std::vector<std::string> classes() const override {
    return source_->classes();
  }
  std::string nameOf(int64_t row) const override {
    return source_->nameOf(row);
  }
  bool isReplaced(int64_t row) const override {
    return source_->isReplaced(row);
  }
  bool isSlow() const override { return source_->isSlow(); }
  Result<std::string> hash(int threads) const override {
    return source_->hash(threads);
  }

protected:
  const std::shared_ptr<const Source> source_;
};

// Opens `path`: tokens (tokens/TokenSource.h), text (spool/TextFiles.h), a
// table (spool/TableSource.h), shards (shards/Shards.h), a folder of pictures
// (pictures/Folder.h), or arrays: .safetensors, .npy, else .npz.
Result<std::shared_ptr<const Source>> openSource(const std::string &path,
                                                 const SampleOptions &options);

// Splits "PATH,PATH" unless a path with commas exists. Adjacent tables are one
// source, as their classes are numbered together.
std::vector<std::string> pathsIn(const std::string &list);
Result<std::vector<std::shared_ptr<const Source>>>
openSources(const std::string &list, const SampleOptions &options);

// Arrays in memory, owned by the source; the hash is that of their bytes.
std::shared_ptr<const Source> sourceOf(std::string name,
                                       std::map<std::string, Array> arrays);

// Reads an array that is in memory or memory-mapped.
std::shared_ptr<const RowReader> readerOf(Array array);
// Reads rows by a function, as RowReader::read.
std::shared_ptr<const RowReader>
    readerBy(std::function<Status(int64_t, const TrainingPass *, std::byte *)>);

// The error for a key that a source lacks.
Status noSuchArray(const Source &source, const std::string &key);

} // namespace dlc
