// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/TensorData.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/SmallNumbers.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/Packed.h"
#include <algorithm>
#include <cstring>

namespace dlc::import {
namespace {

/// The names of the data fields that are set.
std::vector<std::string> dataFields(const onnx::TensorProto &tensor) {
  std::vector<std::string> fields;
  auto add = [&](bool set, const char *name) {
    if (set)
      fields.push_back(name);
  };
  add(tensor.has_raw_data() && !tensor.raw_data().empty(), "raw_data");
  add(tensor.float_data_size(), "float_data");
  add(tensor.int32_data_size(), "int32_data");
  add(tensor.string_data_size(), "string_data");
  add(tensor.int64_data_size(), "int64_data");
  add(tensor.double_data_size(), "double_data");
  add(tensor.uint64_data_size(), "uint64_data");
  add(tensor.data_location() == onnx::TensorProto::EXTERNAL, "external data");
  return fields;
}

/// int32_data has one element per entry for types of at most 4 bytes except
/// float; for 16-bit floats their bits. `most` is the largest valid entry.
template <typename T>
Result<std::string> narrow(const onnx::TensorProto &tensor,
                           const std::string &name, int32_t most) {
  for (int32_t value : tensor.int32_data())
    if (value < 0 || value > most)
      return badModel("tensor '{}': int32_data holds {}, but {} has 0 to {}",
                      printable(name), value, onnxTypeName(tensor.data_type()),
                      most);
  std::string bytes(tensor.int32_data_size() * sizeof(T), '\0');
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    T value = static_cast<T>(tensor.int32_data(i));
    std::copy_n(reinterpret_cast<const char *>(&value), sizeof(T),
                bytes.data() + i * sizeof(T));
  }
  return bytes;
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
  auto bytes =
      sizeOf(weight.dtype) == 2
          ? narrow<uint16_t>(tensor, name, UINT16_MAX)
          : narrow<uint8_t>(tensor, name,
                            weight.dtype == DType::Bool ? 1 : UINT8_MAX);
  DLC_TRY(bytes.status());
  store.own(name, weight.dtype, weight.shape, *std::move(bytes));
  return Status();
}

Status checkBooleans(const Weight &weight, const std::string &name) {
  auto *bytes = static_cast<const uint8_t *>(weight.data);
  if (std::any_of(bytes, bytes + weight.bytes, [](uint8_t b) { return b > 1; }))
    return badModel("tensor '{}': a BOOL is neither 0 nor 1", name);
  return Status();
}

} // namespace

namespace {

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
  auto fields = dataFields(tensor);
  if (fields.size() > 1)
    return badModel("tensor '{}': both {} and {} are set, expected one", name,
                    fields[0], fields[1]);
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    DLC_ASSIGN(auto range, external.find(tensor, size));
    return std::string(reinterpret_cast<const char *>(range.bytes.data()),
                       size);
  }
  std::string bytes = tensor.raw_data();
  for (int32_t value : tensor.int32_data())
    bytes.append(reinterpret_cast<const char *>(&value),
                 std::min(unit, sizeof value));
  for (uint64_t value : tensor.uint64_data())
    bytes.append(reinterpret_cast<const char *>(&value), unit);
  if (bytes.size() != size)
    return wrongSize(name, fields.empty() ? "no data" : fields[0].c_str(),
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

  auto fields = dataFields(tensor);
  if (fields.size() > 1)
    return badModel("tensor '{}': both {} and {} are set, expected one", name,
                    fields[0], fields[1]);
  if (fields.empty()) {
    if (weight.bytes > 0)
      return badModel("tensor '{}': no data, expected {} bytes", name,
                      weight.bytes);
    store.add(name, std::move(weight));
    return Status();
  }
  if (fields[0] == "external data") {
    DLC_ASSIGN(auto range, external.find(tensor, weight.bytes));
    weight.data = range.bytes.data();
    store.keep(range.file);
  } else if (fields[0] == "raw_data") {
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
