// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/TensorData.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/Packed.h"
#include <algorithm>
#include <cstring>

namespace dlc::import {
namespace {

/// The name of the data field that is set, "" if none is.
Result<std::string> dataField(const onnx::TensorProto &tensor,
                              const std::string &name) {
  const std::pair<bool, const char *> known[] = {
      {!tensor.raw_data().empty(), "raw_data"},
      {tensor.float_data_size(), "float_data"},
      {tensor.int32_data_size(), "int32_data"},
      {tensor.string_data_size(), "string_data"},
      {tensor.int64_data_size(), "int64_data"},
      {tensor.double_data_size(), "double_data"},
      {tensor.uint64_data_size(), "uint64_data"},
      {tensor.data_location() == onnx::TensorProto::EXTERNAL, "external data"}};
  std::string found;
  for (const auto &[isSet, field] : known) {
    if (isSet && !found.empty())
      return badModel("tensor '{}': both {} and {} are set, expected one", name,
                      found, field);
    if (isSet)
      found = field;
  }
  return found;
}

/// The first `width` bytes of each entry.
std::string firstBytes(const auto &entries, size_t width) {
  std::string bytes;
  for (const auto &entry : entries)
    bytes.append(reinterpret_cast<const char *>(&entry), width);
  return bytes;
}

/// int32_data has one element per entry for types of at most 4 bytes except
/// float; for 16-bit floats their bits. `most` is the largest valid entry.
Result<std::string> narrow(const onnx::TensorProto &tensor,
                           const std::string &name, size_t width,
                           int32_t most) {
  for (int32_t value : tensor.int32_data())
    if (value < 0 || value > most)
      return badModel("tensor '{}': int32_data holds {}, but {} has 0 to {}",
                      printable(name), value, onnxTypeName(tensor.data_type()),
                      most);
  return firstBytes(tensor.int32_data(), width);
}

Status wrongSize(const std::string &name, const char *field, size_t found,
                 size_t expected, const char *unit) {
  return badModel("tensor '{}': {} has {} {}, expected {} for its shape and "
                  "type",
                  name, field, found, unit, expected);
}

/// Adds data from a typed field.
Status addTyped(const onnx::TensorProto &tensor, const std::string &name,
                Weight weight, WeightStore &store) {
  size_t elements = weight.elements();
  auto view = [&](const auto &field, const char *fieldName) -> Status {
    if (size_t(field.size()) != elements)
      return wrongSize(name, fieldName, field.size(), elements, "elements");
    weight.data = field.data();
    store.add(name, std::move(weight));
    return Status();
  };
  switch (weight.dtype) {
  case DType::F32:
    return view(tensor.float_data(), "float_data");
  case DType::F64:
    return view(tensor.double_data(), "double_data");
  case DType::I64:
    return view(tensor.int64_data(), "int64_data");
  case DType::I32:
    return view(tensor.int32_data(), "int32_data");
  default:
    break;
  }
  if (size_t(tensor.int32_data_size()) != elements)
    return wrongSize(name, "int32_data", tensor.int32_data_size(), elements,
                     "elements");
  const size_t width = sizeOf(weight.dtype);
  const int32_t most = weight.dtype == DType::Bool ? 1
                       : width == 1                ? UINT8_MAX
                                                   : UINT16_MAX;
  DLC_ASSIGN(auto bytes, narrow(tensor, name, width, most));
  store.own(name, weight.dtype, weight.shape, std::move(bytes));
  return Status();
}

Status checkBooleans(const Weight &weight, const std::string &name) {
  auto *bytes = static_cast<const uint8_t *>(weight.data);
  if (std::any_of(bytes, bytes + weight.bytes, [](uint8_t b) { return b > 1; }))
    return badModel("tensor '{}': a BOOL is neither 0 nor 1", name);
  return Status();
}

/// Bits of an element of a narrow type.
int bitsOf(int onnxType) {
  if (const SmallInteger *integer = smallInteger(onnxType))
    return integer->bits;
  if (const SmallFloat *small = smallFloat(onnxType))
    return small->bits;
  return onnxType == onnx::TensorProto::FLOAT8E8M0 ? 8 : 64;
}

/// The elements in the layout of raw_data. An entry of int32_data is one
/// element, or one byte of packed elements.
Result<std::string> narrowBytes(const onnx::TensorProto &tensor,
                                const std::string &name, size_t size,
                                size_t unit, ExternalData &external) {
  DLC_ASSIGN(const auto field, dataField(tensor, name));
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    DLC_ASSIGN(auto range, external.find(tensor, size));
    return std::string(reinterpret_cast<const char *>(range.bytes.data()),
                       size);
  }
  const std::string bytes =
      tensor.raw_data() +
      firstBytes(tensor.int32_data(), std::min<size_t>(unit, 4)) +
      firstBytes(tensor.uint64_data(), unit);
  if (bytes.size() != size)
    return wrongSize(name, field.empty() ? "no data" : field.c_str(),
                     bytes.size(), size, "bytes");
  return bytes;
}

/// Element `i`; the first one in a byte has its lowest bits.
uint64_t elementBits(const std::string &bytes, size_t i, size_t bits) {
  if (bits < 8)
    return uint8_t(bytes[i * bits / 8]) >> (i * bits % 8) & ((1u << bits) - 1);
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + i * bits / 8, bits / 8);
  return value;
}

/// Adds a tensor of a narrow type, widened.
Status addNarrow(const onnx::TensorProto &tensor, const std::string &name,
                 ExternalData &external, WeightStore &store) {
  const int type = tensor.data_type();
  const DType dtype = *toDType(type);
  const size_t bits = size_t(bitsOf(type)), width = sizeOf(dtype);
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  DLC_ASSIGN(auto count,
             countElements(shape, fmt::format("tensor '{}'", name)));
  const size_t size = (size_t(count) * bits + 7) / 8;
  DLC_ASSIGN(auto bytes, narrowBytes(tensor, name, size,
                                     std::max<size_t>(bits / 8, 1), external));
  const SmallInteger *integer = smallInteger(type);
  std::vector<float> floats; // bit patterns
  if (dtype == DType::F32)
    floats = valuesOf(*findPacked(onnxTypeName(type)));
  std::string wide(size_t(count) * width, '\0');
  for (size_t i = 0; i < size_t(count); ++i) {
    const uint64_t element = elementBits(bytes, i, bits);
    char *to = wide.data() + i * width;
    if (dtype == DType::F32) {
      std::memcpy(to, &floats[element], width);
      continue;
    }
    if (!integer && element > uint64_t(INT64_MAX))
      return badModel("tensor '{}': a value of UINT64 is above 2^63 - 1, which "
                      "is not supported",
                      name);
    const int64_t value =
        integer ? wrapTo(*integer, int64_t(element)) : int64_t(element);
    std::memcpy(to, &value, width);
  }
  store.own(name, dtype, std::move(shape), std::move(wide));
  return Status();
}

} // namespace

Status addTensor(const onnx::TensorProto &tensor, const std::string &name,
                 ExternalData &external, WeightStore &store) {
  auto dtype = toDType(tensor.data_type());
  if (!dtype)
    return badModel("tensor '{}': data type {} is not supported", name,
                    onnxTypeName(tensor.data_type()));
  if (tensor.has_segment())
    return badModel("tensor '{}': segmented tensors are not supported", name);
  if (isNarrow(tensor.data_type()))
    return addNarrow(tensor, name, external, store);
  Weight weight{*dtype, {tensor.dims().begin(), tensor.dims().end()}};
  DLC_ASSIGN(auto count,
             countElements(weight.shape, fmt::format("tensor '{}'", name)));
  weight.bytes = count * sizeOf(*dtype);

  DLC_ASSIGN(const auto field, dataField(tensor, name));
  if (field.empty()) {
    if (weight.bytes > 0)
      return badModel("tensor '{}': no data, expected {} bytes", name,
                      weight.bytes);
    store.add(name, std::move(weight));
    return Status();
  }
  if (field == "external data") {
    DLC_ASSIGN(auto range, external.find(tensor, weight.bytes));
    weight.data = range.bytes.data();
    store.keep(range.file);
  } else if (field == "raw_data") {
    if (tensor.raw_data().size() != weight.bytes)
      return wrongSize(name, "raw_data", tensor.raw_data().size(), weight.bytes,
                       "bytes");
    weight.data = tensor.raw_data().data();
  } else {
    return addTyped(tensor, name, std::move(weight), store);
  }
  if (weight.dtype == DType::Bool)
    DLC_TRY(checkBooleans(weight, name));
  store.add(name, std::move(weight));
  return Status();
}

} // namespace dlc::import
