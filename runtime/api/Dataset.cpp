// SPDX-License-Identifier: Apache-2.0
// Data sets of the C interface: files, arrays, and samples read on demand.
#include "runtime/api/Options.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/Hash.h"

#include <cstring>

using namespace dlc;
using namespace dlc::api;

namespace {

// Name, type and shape of a caller's tensor.
struct Described {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
};

Result<Described> describeGiven(const dlc_tensor &tensor) {
  Described d;
  d.name = text(tensor.name);
  if (d.name.empty())
    return usageError("an array has no name");
  const auto dtype = typeOf(tensor.dtype);
  if (!dtype)
    return usageError("array '{}' has the unknown dtype {}", d.name,
                      int(tensor.dtype));
  d.dtype = *dtype;
  DLC_ASSIGN(d.shape, shapeOf(tensor));
  const auto elements = checkedElements(d.shape);
  const auto bytes =
      elements ? checkedMul(*elements, sizeOf(d.dtype)) : elements;
  if (!bytes)
    return usageError("array '{}' has an impossible size: {}", d.name,
                      describe(d.dtype, d.shape));
  d.bytes = *bytes;
  return d;
}

// If `owner` is null, copies the data.
Result<Array> arrayOf(const dlc_tensor &tensor, const Described &d,
                      const std::shared_ptr<void> &owner) {
  if (tensor.bytes != d.bytes || (d.bytes > 0 && !tensor.data))
    return usageError("array '{}' has {} bytes, expected {} for {}", d.name,
                      tensor.data ? tensor.bytes : 0, d.bytes,
                      describe(d.dtype, d.shape));
  const auto *from = static_cast<const std::byte *>(tensor.data);
  if (owner)
    return Array{d.dtype, d.shape, {{from, d.bytes}, owner}};
  auto copy = std::make_shared<std::vector<std::byte>>(from, from + d.bytes);
  return Array{d.dtype, d.shape, {*copy, copy}};
}

// Arrays of the caller, which are released after the last read.
struct Lent {
  void (*release)(void *user) = nullptr;
  void *user = nullptr;
  ~Lent() {
    if (release)
      release(user);
  }
};

Status ofArrays(std::span<const dlc_tensor> given,
                const std::shared_ptr<void> &owner, dlc_dataset **made) {
  std::map<std::string, Array> arrays;
  for (const dlc_tensor &tensor : given) {
    DLC_ASSIGN(Described d, describeGiven(tensor));
    DLC_ASSIGN(Array array, arrayOf(tensor, d, owner));
    if (!arrays.emplace(d.name, std::move(array)).second)
      return usageError("two arrays are named '{}'", d.name);
  }
  *made = new dlc_dataset{sourceOf("arrays in memory", std::move(arrays))};
  return {};
}

// What all columns of a caller's source share.
struct OwnSamples {
  dlc_source calls;
  std::string name, identity;
  std::vector<Described> columns; // with a dimension of samples in front
  ~OwnSamples() {
    if (calls.release)
      calls.release(calls.user);
  }
};

class OwnSource final : public Source {
public:
  explicit OwnSource(std::shared_ptr<const OwnSamples> samples)
      : samples_(std::move(samples)) {}

  std::string name() const override { return samples_->name; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const Described &column : samples_->columns)
      keys.push_back(column.name);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(const size_t at, find(key));
    return Array{samples_->columns[at].dtype, samples_->columns[at].shape, {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(const size_t at, find(key));
    return readerBy([samples = samples_, at](int64_t row, auto, auto *to) {
      const int code = samples->calls.read(samples->calls.user, at, row, to);
      return code == 0 ? Status()
                       : failed("sample {} cannot be read: the program's code "
                                "{}",
                                row, code);
    });
  }
  Result<std::string> hash(int) const override {
    return sha256(std::as_bytes(std::span(samples_->identity)));
  }

private:
  Result<size_t> find(const std::string &key) const {
    for (size_t i = 0; i < samples_->columns.size(); ++i)
      if (samples_->columns[i].name == key)
        return i;
    return noSuchArray(*this, key);
  }

  std::shared_ptr<const OwnSamples> samples_;
};

Result<std::shared_ptr<const Source>> ownSource(const dlc_source *place) {
  constexpr size_t kLeast =
      offsetof(dlc_source, release) + sizeof(dlc_source::release);
  DLC_ASSIGN(const dlc_source given, taken(place, kLeast, "dlc_source"));
  if (given.samples < 0 || !given.read || given.column_count == 0 ||
      !given.columns)
    return usageError("a source needs samples, columns and a function that "
                      "reads");
  auto samples = std::make_shared<OwnSamples>();
  samples->name = given.name ? given.name : "the program's data";
  samples->identity = text(given.identity);
  for (size_t i = 0; i < given.column_count; ++i) {
    DLC_ASSIGN(Described column, describeGiven(given.columns[i]));
    column.shape.insert(column.shape.begin(), given.samples);
    samples->columns.push_back(std::move(column));
  }
  samples->calls = given; // from now on it will be released
  return std::make_shared<const OwnSource>(std::move(samples));
}

Status open(const std::string &path, std::span<const dlc_option> options,
            dlc_dataset *&made) {
  std::vector<KeptOption> kept;
  for (const dlc_option &option : options)
    kept.push_back({text(option.name),
                    option.value ? std::optional<std::string>(option.value)
                                 : std::nullopt});
  DLC_ASSIGN(const SampleOptions samples, withOptions({}, kept));
  DLC_ASSIGN(auto sources, openSources(path, samples));
  if (sources.size() > 1)
    return usageError("'{}' names {} sources of samples, expected one: a "
                      "trainer takes several by its option 'data'",
                      path, sources.size());
  made = new dlc_dataset{std::move(sources[0]), std::move(kept)};
  return {};
}

Given placeGiven(dlc_dataset **made) {
  return {made, "the place for the data set"};
}

} // namespace

dlc_code dlc_dataset_open(const char *path, dlc_dataset **made) {
  return dlc_dataset_open_with(path, nullptr, 0, made);
}

dlc_code dlc_dataset_open_with(const char *path, const dlc_option *options,
                               size_t count, dlc_dataset **made) {
  return call("a data set",
              {{path, "the path"},
               {options, count, "the list of options"},
               placeGiven(made)},
              [&] {
                return open(path, {options, count}, *made);
              });
}

dlc_code dlc_dataset_from_arrays(const dlc_tensor *arrays, size_t count,
                                 dlc_dataset **made) {
  return call("a data set", {{arrays, "the list of arrays"}, placeGiven(made)},
              [&] {
                return ofArrays({arrays, count}, nullptr, made);
              });
}

dlc_code dlc_dataset_from_views(const dlc_tensor *arrays, size_t count,
                                void (*release)(void *user), void *user,
                                dlc_dataset **made) {
  return call("a data set", {{arrays, "the list of arrays"}, placeGiven(made)},
              [&]() -> Status {
                auto owner = std::make_shared<Lent>();
                DLC_TRY(ofArrays({arrays, count}, owner, made));
                owner->release = release; // from now on it will be called
                owner->user = user;
                return {};
              });
}

dlc_code dlc_dataset_from_source(const dlc_source *source, dlc_dataset **made) {
  return call("a data set", {{source, "the source"}, placeGiven(made)},
              [&]() -> Status {
                DLC_ASSIGN(auto own, ownSource(source));
                *made = new dlc_dataset{std::move(own)};
                return {};
              });
}

void dlc_dataset_close(dlc_dataset *dataset) { delete dataset; }
