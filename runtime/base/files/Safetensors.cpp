// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/files/Safetensors.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/numbers/Checked.h"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little);

namespace dlc {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr char kMetadata[] = "__metadata__";

Result<std::vector<int64_t>> readShape(const Json &entry) {
  auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array())
    return corrupt("expected a list 'shape'");
  std::vector<int64_t> result;
  for (const Json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return corrupt("shape has {}, expected a whole number", dumpJson(dim));
    result.push_back(dim.get<int64_t>());
  }
  return result;
}

// Integer types stored in a wider DType.
struct NarrowType {
  std::string_view name;
  uint64_t bytes;
  DType wide;
};
constexpr NarrowType kNarrow[] = {{"I8", 1, DType::I32},
                                  {"I16", 2, DType::I32},
                                  {"U16", 2, DType::I32},
                                  {"U32", 4, DType::I64}};

// One entry of the header; `data` are the file's bytes after it.
Result<NamedTensor> readEntry(const std::string &name, const Json &entry,
                              std::span<const std::byte> data, bool narrow) {
  DLC_ASSIGN(std::string type, jsonString(entry, "dtype"));
  std::optional<DType> dtype = dtypeFromSafetensors(type);
  uint64_t size = dtype ? sizeOf(*dtype) : 0;
  std::string_view stored;
  for (const NarrowType &known : kNarrow)
    if (narrow && type == known.name)
      dtype = known.wide, size = known.bytes, stored = known.name;
  if (!dtype)
    return corrupt("dtype '{}' is not supported", type);
  DLC_ASSIGN(std::vector<int64_t> shape, readShape(entry));
  auto range = entry.find("data_offsets");
  if (range == entry.end() || !range->is_array() || range->size() != 2 ||
      !(*range)[0].is_number_unsigned() || !(*range)[1].is_number_unsigned())
    return corrupt("expected two numbers 'data_offsets'");
  uint64_t begin = (*range)[0].get<uint64_t>();
  uint64_t end = (*range)[1].get<uint64_t>();
  if (begin > end || end > data.size())
    return corrupt("bytes [{}, {}) are outside of the file's {}", begin, end,
                   data.size());
  std::optional<uint64_t> bytes = checkedElements(shape);
  bytes = bytes ? checkedMul(*bytes, size) : bytes;
  if (bytes != end - begin)
    return corrupt("has {} bytes, expected what its shape and dtype need",
                   end - begin);
  return NamedTensor{name,        *dtype, std::move(shape), data.data() + begin,
                     end - begin, stored};
}

Status readMetadata(const Json &object,
                    std::map<std::string, std::string> &metadata) {
  if (!object.is_object())
    return corrupt("__metadata__ is not an object");
  for (const auto &[key, value] : object.items()) {
    if (!value.is_string())
      return corrupt("__metadata__ '{}' is not a string", key);
    metadata[key] = value.get<std::string>();
  }
  return {};
}

// Checks that tensors, sorted by offset, are contiguous.
Status checkContiguous(std::vector<NamedTensor> &tensors,
                       std::span<const std::byte> data) {
  std::ranges::stable_sort(tensors, {},
                           [](auto &t) { return std::pair(t.data, t.bytes); });
  const std::byte *next = data.data();
  for (const NamedTensor &tensor : tensors) {
    if (tensor.data != next)
      return corrupt("tensor '{}' {} the one before it", tensor.name,
                     tensor.data < next ? "overlaps" : "leaves a gap after");
    next += tensor.bytes;
  }
  if (next != data.data() + data.size())
    return corrupt("{} bytes after the last tensor",
                   data.data() + data.size() - next);
  return {};
}

Result<Json> readHeader(std::span<const std::byte> file, uint64_t &headerSize) {
  if (file.size() < 8)
    return corrupt("has {} bytes, expected a header", file.size());
  std::memcpy(&headerSize, file.data(), 8);
  if (headerSize > kMaxHeader || headerSize > file.size() - 8)
    return corrupt("header of {} bytes does not fit", headerSize);
  DLC_ASSIGN(
      Json header,
      parseJson({reinterpret_cast<const char *>(file.data()) + 8, headerSize}));
  if (!header.is_object())
    return corrupt("header is not an object");
  return header;
}

std::string makeHeader(const std::vector<NamedTensor> &tensors,
                       const std::map<std::string, std::string> &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header[kMetadata] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    header[tensor.name] = {{"dtype", safetensorsNameOf(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  std::string text = dumpJson(header);
  text.resize((text.size() + 63) / 64 * 64 - 8 + 64, ' ');
  return text;
}

} // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path,
                                              bool narrow) {
  SafetensorsFile result;
  DLC_ASSIGN(result.file_, MappedFile::open(path));
  auto parse = [&]() -> Status {
    uint64_t headerSize = 0;
    DLC_ASSIGN(Json header, readHeader(result.file_.bytes(), headerSize));
    auto data = result.file_.bytes().subspan(8 + headerSize);
    for (const auto &[name, entry] : header.items()) {
      if (name == kMetadata) {
        DLC_TRY(readMetadata(entry, result.metadata_));
        continue;
      }
      DLC_ASSIGN(result.tensors_.emplace_back(),
                 readEntry(name, entry, data, narrow)
                     .withContext("tensor '{}'", name));
    }
    return checkContiguous(result.tensors_, data);
  };
  DLC_TRY(parse().withContext("'{}'", path));
  for (size_t i = 0; i < result.tensors_.size(); ++i)
    result.index_[result.tensors_[i].name] = i;
  return result;
}

const NamedTensor *SafetensorsFile::find(const std::string &name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Status writeSafetensors(const std::string &path,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  DLC_ASSIGN(AtomicFile file, AtomicFile::create(path));
  DLC_TRY(writeSafetensors(file.writer(), tensors, metadata));
  return file.commit();
}

Status writeSafetensors(FileWriter &file,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata,
                        Sha256 *hash) {
  const auto write = [&](const void *data, uint64_t bytes) -> Status {
    if (hash)
      hash->add(data, bytes);
    return file.write(data, bytes);
  };
  const std::string header = makeHeader(tensors, metadata);
  const uint64_t size = header.size();
  DLC_TRY(write(&size, sizeof size));
  DLC_TRY(write(header.data(), size));
  for (const NamedTensor &tensor : tensors)
    DLC_TRY(write(tensor.data, tensor.bytes));
  return {};
}

} // namespace dlc
