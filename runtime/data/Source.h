// Arrays by name, a row of each a sample: what a data set is made of, be it a
// file or a program's own.
#pragma once

#include "runtime/data/Npy.h"
#include "runtime/data/SampleOptions.h"

#include <map>

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
  // Row `row`, 0 <= row < the array's rows, to `to`, which has a row's bytes.
  // Null: as it is evaluated, with nothing drawn.
  virtual Status read(int64_t row, const TrainingPass *pass,
                      std::byte *to) const = 0;
};

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
  // A source whose samples have no shape of their own, as pictures have none:
  // the same samples as values of an input that has this shape without its
  // batch. Null: they have a shape.
  virtual Result<std::shared_ptr<const Source>>
  shaped(const std::vector<int64_t> &, const SampleOptions &) const {
    return nullptr;
  }
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

// What is at `path`: tokens (tokens/TokenSource.h), shards (shards/Shards.h), a
// folder of pictures (pictures/Folder.h), a .npy, else a .npz.
Result<std::shared_ptr<const Source>> openSource(const std::string &path,
                                                 const SampleOptions &options);

// Arrays in memory, which the source keeps; the hash is that of their bytes.
std::shared_ptr<const Source> sourceOf(std::string name,
                                       std::map<std::string, Array> arrays);

// The error of a key that a source does not have.
Status noSuchArray(const Source &source, const std::string &key);

} // namespace dlc
