// SPDX-License-Identifier: Apache-2.0
// Arrays by name, a row of each a sample: what a data set is made of, be it a
// file or a program's own.
#pragma once

#include "runtime/data/Npy.h"
#include "runtime/data/SampleOptions.h"

#include <map>
#include <span>

namespace dlc {

// A pass over the samples in training. What is drawn for a sample, which part
// of a picture say, is given by these and its row alone.
struct TrainingPass {
  uint64_t seed = 0;
  int64_t epoch = 0;
};

// The rows of one array. Any thread may read, several at once.
class RowReader {
public:
  virtual ~RowReader() = default;

  // All rows, if they are in memory: what is read again and again, and checked
  // before the first step. Null otherwise.
  virtual const std::byte *all() const { return nullptr; }
  // Whether rows cost no more than memory: they are checked before the first
  // step, too.
  virtual bool isInMemory() const { return all() != nullptr; }
  // Row `row`, 0 <= row < the array's rows, to `to`, which has a row's bytes.
  // Null: as it is evaluated, with nothing drawn.
  virtual Status read(int64_t row, const TrainingPass *pass,
                      std::byte *to) const = 0;
  // Where it was read from, for messages; nothing if the row says all.
  virtual std::string placeOf(int64_t, const TrainingPass *) const {
    return "";
  }
};

// An input that samples are to fill.
struct SampleInput {
  std::string key;
  std::vector<int64_t> shape; // of a sample; a label's counts by entries only
  bool isLabel = false;
};
// The shape of the first that is no label; null if all are.
const std::vector<int64_t> *shapeOfFirst(std::span<const SampleInput> inputs);

class SampleStream;

class Source {
public:
  virtual ~Source() = default;

  // What messages call it: a file's path.
  virtual std::string name() const = 0;
  virtual std::vector<std::string> keys() const = 0;
  // Type and shape of an array, of all its rows, without content. Errors name
  // source and key.
  virtual Result<Array> head(const std::string &key) const = 0;
  virtual Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const = 0;
  // A source whose samples have no shape of their own, as pictures have none,
  // or more columns than are wanted: the same samples for these inputs, of
  // which at least one is no label. Null: they are what they are.
  virtual Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput>, const SampleOptions &) const {
    return nullptr;
  }
  // Whether what shaped() gives has been augmented.
  virtual bool augments() const { return false; }
  // Names of the labels' classes in the order of their numbers; none if they
  // have numbers alone.
  virtual std::vector<std::string> classes() const { return {}; }
  // Whether samples come in an order of their own (stream/SampleStream.h): no
  // row can be read; each stream() begins anew.
  virtual bool isStream() const { return false; }
  virtual std::unique_ptr<SampleStream> stream() const;
  // What a row is called: its file's path, say; nothing if its number says all.
  virtual std::string nameOf(int64_t) const { return ""; }
  // Whether a read of this row has found that it cannot be decoded, and gave
  // another's instead (BadSamples::Skip).
  virtual bool isReplaced(int64_t) const { return false; }
  // Whether a row costs so much that several threads should read.
  virtual bool isSlow() const { return false; }
  // What tells these samples from others, between ranks and to a run that goes
  // on; 64 hex digits. `threads` may compute it.
  virtual Result<std::string> hash(int threads) const = 0;
  // Whether `hash`, of this version of dlc or an older one, is of these
  // samples; `own` is hash().
  virtual Result<bool> isHash(const std::string &hash,
                              const std::string &own) const {
    return hash == own;
  }

  bool has(const std::string &key) const;
};

// Another source's arrays, but for what is overridden.
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
  Result<bool> isHash(const std::string &hash,
                      const std::string &own) const override {
    return source_->isHash(hash, own);
  }

protected:
  const std::shared_ptr<const Source> source_;
};

// What is at `path`: tokens (tokens/TokenSource.h), text (spool/TextFiles.h), a
// table (spool/TableSource.h), shards (shards/Shards.h), a folder of pictures
// (pictures/Folder.h), arrays: .safetensors, .npy, else .npz.
Result<std::shared_ptr<const Source>> openSource(const std::string &path,
                                                 const SampleOptions &options);

// Several by "PATH,PATH"; a path with commas that is there is one. Tables side
// by side are one source, as their classes are numbered together.
std::vector<std::string> pathsIn(const std::string &list);
Result<std::vector<std::shared_ptr<const Source>>>
openSources(const std::string &list, const SampleOptions &options);

// Arrays in memory, which the source keeps; the hash is that of their bytes.
std::shared_ptr<const Source> sourceOf(std::string name,
                                       std::map<std::string, Array> arrays);

// All rows of an array that is in memory, or mapped.
std::shared_ptr<const RowReader> readerOf(Array array);

// The error of a key that a source does not have.
Status noSuchArray(const Source &source, const std::string &key);

} // namespace dlc
