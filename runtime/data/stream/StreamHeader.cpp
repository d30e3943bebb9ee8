// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/stream/SampleStream.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"

#include <algorithm>
#include <array>

namespace dlc {
namespace {

std::optional<DType> dtypeOf(const std::string &name) {
  constexpr std::array<std::pair<std::string_view, DType>, 8> kNames = {
      {{"float32", DType::F32},
       {"float16", DType::F16},
       {"bfloat16", DType::BF16},
       {"float64", DType::F64},
       {"int64", DType::I64},
       {"int32", DType::I32},
       {"uint8", DType::U8},
       {"bool", DType::Bool}}};
  for (const auto &[known, dtype] : kNames)
    if (name == known)
      return dtype;
  return dtypeFromName(name);
}

Status readArray(const Json &entry, StreamHeader &header) {
  if (!entry.is_object())
    return failed("expected objects in 'arrays'");
  StreamHeader::StreamArray array;
  DLC_ASSIGN(array.name, jsonString(entry, "name"));
  DLC_ASSIGN(const std::string type, jsonString(entry, "dtype"));
  const auto dtype = dtypeOf(type);
  if (!dtype)
    return failed("'{}' has dtype '{}', expected float32, float16, bfloat16, "
                  "float64, int64, int32, uint8 or bool",
                  printable(array.name), printable(type));
  const auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array())
    return failed("'{}' has no list 'shape'", printable(array.name));
  for (const Json &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return failed("'{}' has a shape with {}, expected whole numbers",
                    printable(array.name), dumpJson(dim));
    array.shape.push_back(dim.get<int64_t>());
  }
  const auto elements = checkedElements(array.shape);
  const auto bytes =
      elements ? checkedMul(*elements, sizeOf(*dtype)) : elements;
  if (!bytes || *bytes > kMaxStreamRecord - header.recordBytes)
    return failed("'{}' makes a sample larger than 1 GiB",
                  printable(array.name));
  if (header.find(array.name))
    return failed("two arrays are named '{}'", printable(array.name));
  array.dtype = *dtype;
  array.offset = header.recordBytes, array.bytes = *bytes;
  header.recordBytes += *bytes;
  header.arrays.push_back(std::move(array));
  return {};
}

Result<StreamHeader> readStreamHeader(std::string_view line) {
  DLC_ASSIGN(const Json json, parseJson(line));
  if (!json.is_object())
    return failed("expected an object");
  DLC_ASSIGN(const uint64_t version, jsonUnsigned(json, "dlc"));
  if (version != 1)
    return failed("\"dlc\" is {}, expected 1", version);
  const auto arrays = json.find("arrays");
  if (arrays == json.end() || !arrays->is_array() || arrays->empty())
    return failed("expected a list 'arrays'");
  StreamHeader header;
  for (const Json &entry : *arrays)
    DLC_TRY(readArray(entry, header));
  if (header.recordBytes == 0)
    return failed("a sample has no bytes");
  if (json.contains("samples")) {
    DLC_ASSIGN(const uint64_t samples, jsonUnsigned(json, "samples"));
    if (samples == 0 || samples >= uint64_t(kEndlessSamples))
      return failed("\"samples\" is {}", samples);
    header.samples = int64_t(samples);
  }
  return header;
}

} // namespace

const StreamHeader::StreamArray *
StreamHeader::find(const std::string &name) const {
  const auto found = std::ranges::find(arrays, name, &StreamArray::name);
  return found == arrays.end() ? nullptr : &*found;
}

Result<StreamHeader> parseStreamHeader(std::string_view line) {
  auto header = readStreamHeader(line);
  if (header)
    return header;
  return failed("its first line is not a sample header: {} (found '{}')",
                header.status().message(), printable(line, 100));
}

} // namespace dlc
