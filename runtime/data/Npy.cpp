// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Npy.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Granted.h"

#include <cstring>
#include <map>
#include <optional>
#include <re2/re2.h>

namespace dlc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 64 << 10;

// The Python dictionary at the start of a .npy file.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

// The entries of a Python dictionary with the keys of a .npy header, each of
// them once; null if `text` is another.
std::optional<std::map<std::string, std::string>>
entriesOf(re2::StringPiece text) {
  static const RE2 entry(
      R"((?s)\s*['"](descr|fortran_order|shape)['"]\s*:\s*)"
      R"(('[^']*'|"[^"]*"|\[.*\]|True|False|\([\d\s,]*\))\s*,?)");
  std::map<std::string, std::string> entries;
  std::string key, value;
  if (!RE2::Consume(&text, R"(\s*\{)"))
    return std::nullopt;
  while (RE2::Consume(&text, entry, &key, &value))
    if (!entries.emplace(key, value).second)
      return std::nullopt;
  const bool isWhole = RE2::FullMatch(text, R"(\s*\}\s*)");
  return isWhole && entries.size() == 3 ? std::optional(entries) : std::nullopt;
}

// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and no
// other Python. A list as descr is a structured type, whose start is quoted.
std::optional<Header> parseHeader(std::string_view text) {
  const auto entries = entriesOf(text);
  if (!entries)
    return std::nullopt;
  Header header;
  const std::string &descr = entries->at("descr"),
                    &order = entries->at("fortran_order"),
                    &shape = entries->at("shape");
  if (!RE2::FullMatch(descr, R"((?s)['"](.*)['"])", &header.descr)) {
    if (descr[0] != '[')
      return std::nullopt;
    header.descr = descr.substr(0, 40);
  }
  header.fortranOrder = order == "True";
  if ((order != "True" && order != "False") || shape[0] != '(')
    return std::nullopt;
  re2::StringPiece dims(shape);
  dims.remove_prefix(1);
  for (int64_t dim = 0; RE2::Consume(&dims, R"(\s*(\d+)\s*,?)", &dim);)
    header.shape.push_back(dim);
  if (header.shape.size() > 32 || !RE2::FullMatch(dims, R"(\s*\))"))
    return std::nullopt;
  return header;
}

template <class From, class To> SharedBytes widen(const SharedBytes &from) {
  size_t count = from.bytes.size() / sizeof(From);
  auto wide = std::make_shared<std::vector<std::byte>>(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from.bytes.data() + i * sizeof value, sizeof value);
    To result = value;
    std::memcpy(wide->data() + i * sizeof result, &result, sizeof result);
  }
  return {*wide, wide};
}

// Converts column-major elements of `size` bytes to row-major order.
SharedBytes inRows(const SharedBytes &from, const std::vector<int64_t> &shape,
                   uint64_t size) {
  auto rows = std::make_shared<std::vector<std::byte>>(from.bytes.size());
  std::vector<uint64_t> strides;
  uint64_t stride = size;
  for (int64_t dim : shape) {
    strides.push_back(stride);
    stride *= uint64_t(dim);
  }
  std::vector<int64_t> at(shape.size());
  uint64_t offset = 0;
  for (uint64_t to = 0; to < rows->size(); to += size) {
    std::memcpy(rows->data() + to, from.bytes.data() + offset, size);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < shape[d])
        break;
      offset -= strides[d] * uint64_t(shape[d]);
      at[d] = 0;
    }
  }
  return {*rows, rows};
}

// The DType of a numpy dtype.
struct Kind {
  std::string_view code; // without byte order
  uint64_t size;
  DType dtype;
  SharedBytes (*convert)(const SharedBytes &) = nullptr;
};
constexpr Kind kKinds[] = {{"f4", 4, DType::F32},
                           {"f8", 8, DType::F64},
                           {"f2", 2, DType::F16},
                           {"i8", 8, DType::I64},
                           {"i4", 4, DType::I32},
                           {"u1", 1, DType::U8},
                           {"b1", 1, DType::Bool},
                           {"i1", 1, DType::I32, widen<int8_t, int32_t>},
                           {"i2", 2, DType::I32, widen<int16_t, int32_t>},
                           {"u2", 2, DType::I32, widen<uint16_t, int32_t>},
                           {"u4", 4, DType::I64, widen<uint32_t, int64_t>}};

Result<Kind> kindOf(const std::string &descr) {
  bool ordered = descr.size() == 3;
  bool little = ordered && (descr[0] == '<' || descr[0] == '|');
  if (ordered && descr[0] == '>')
    return failed(
        "dtype '{}' is big-endian, expected little-endian: convert it "
        "with numpy's astype",
        descr);
  for (const Kind &kind : kKinds)
    if (little && descr.substr(1) == kind.code)
      return kind;
  return failed(
      "dtype '{}' is not supported, expected numbers or bool (f2, f4, "
      "f8, u1, u2, u4, i1, i2, i4, i8, b1){}",
      descr,
      descr.find('U') == descr.npos
          ? ""
          : "; names of classes become numbers by numpy.unique(y, "
            "return_inverse=True)[1]");
}

Result<std::string_view> headerText(std::span<const std::byte> bytes,
                                    size_t &dataStart) {
  std::string_view text{reinterpret_cast<const char *>(bytes.data()),
                        bytes.size()};
  if (text.size() < 12 || !text.starts_with(kMagic))
    return failed("is not a numpy array");
  uint8_t version = uint8_t(text[6]);
  size_t start = version == 1 ? 10 : 12;
  uint32_t size = 0;
  std::memcpy(&size, text.data() + 8, version == 1 ? 2 : 4);
  if (version < 1 || version > 3)
    return failed("has version {} of numpy's format, expected 1 to 3", version);
  if (size > kMaxHeader || size > text.size() - start)
    return failed("its header does not fit");
  dataStart = start + size;
  return text.substr(start, size);
}

} // namespace

Result<SharedBytes> widened(std::string_view type, const SharedBytes &from) {
  struct Named {
    std::string_view tensors, code;
  };
  for (const auto &[tensors, code] : {Named{"I8", "i1"}, Named{"I16", "i2"},
                                      Named{"U16", "u2"}, Named{"U32", "u4"}})
    if (type == tensors)
      type = code;
  for (const Kind &kind : kKinds)
    if (kind.code == type && kind.convert) {
      DLC_TRY(checkMemory(from.bytes.size() / kind.size * sizeOf(kind.dtype),
                          "an array of wider integers"));
      return kind.convert(from);
    }
  return failed("integers of type '{}' are not known", type);
}

std::string describe(DType dtype, const std::vector<int64_t> &shape) {
  return fmt::format("{} [{}]", nameOf(dtype), fmt::join(shape, ", "));
}

// `content` may be only the first bytes of `size`; then the array has no data.
static Result<Array> parseNpyOf(const SharedBytes &content, uint64_t size) {
  size_t start = 0;
  DLC_ASSIGN(std::string_view text, headerText(content.bytes, start));
  const std::optional<Header> header = parseHeader(text);
  if (!header)
    return failed("its header is damaged: expected descr, fortran_order and "
                  "shape, found '{}'",
                  printable(text, 200));
  DLC_ASSIGN(Kind kind, kindOf(header->descr));
  SharedBytes data{content.bytes.subspan(start), content.owner};
  std::optional<uint64_t> bytes = checkedElements(header->shape);
  bytes = bytes ? checkedMul(*bytes, kind.size) : bytes;
  if (bytes != size - start)
    return failed("has {} bytes of data, expected {} for its shape",
                  size - start, bytes ? std::to_string(*bytes) : "less");
  if (content.bytes.size() < size)
    return Array{kind.dtype, std::move(header->shape), {}};
  if (header->fortranOrder && header->shape.size() > 1) {
    DLC_TRY(checkMemory(*bytes, "an array in column-major (Fortran) order, of "
                                "which a copy in rows is made"));
    data = inRows(data, header->shape, kind.size);
  }
  if (kind.convert) {
    DLC_ASSIGN(data, widened(kind.code, data));
  }
  return Array{kind.dtype, std::move(header->shape), std::move(data)};
}

std::vector<int64_t> sampleShape(const std::vector<int64_t> &shape) {
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

Result<Array> parseNpy(const SharedBytes &content) {
  return parseNpyOf(content, content.bytes.size());
}

Result<ArrayFile> ArrayFile::open(const std::string &path) {
  ArrayFile file;
  file.path_ = path;
  if (path.ends_with(".npy")) {
    DLC_ASSIGN(MappedFile mapped, MappedFile::open(path));
    auto owner = std::make_shared<const MappedFile>(std::move(mapped));
    DLC_ASSIGN(file.single_,
               parseNpy({owner->bytes(), owner}).withContext("'{}'", path));
    return file;
  }
  DLC_ASSIGN(file.zip_, ZipFile::open(path));
  return file;
}

std::vector<std::string> ArrayFile::keys() const {
  if (single_)
    return {"x"};
  std::vector<std::string> keys;
  for (std::string &name : zip_->names())
    if (name.ends_with(".npy"))
      keys.push_back(name.substr(0, name.size() - 4));
  return keys;
}

bool ArrayFile::has(const std::string &key) const {
  return single_ ? key == "x" : zip_->has(key + ".npy");
}

static Status noArray(const ArrayFile &file, const std::string &key) {
  const std::string found = fmt::format("{}", fmt::join(file.keys(), ", "));
  return failed("'{}' has no array '{}', found: {}", file.path(), key,
                printable(found));
}

Result<Array> ArrayFile::read(const std::string &key) const {
  if (!has(key))
    return noArray(*this, key);
  if (single_)
    return *single_;
  DLC_ASSIGN(SharedBytes bytes, zip_->read(key + ".npy"));
  return parse(key, bytes, bytes.bytes.size());
}

Result<Array> ArrayFile::head(const std::string &key) const {
  if (!has(key))
    return noArray(*this, key);
  if (single_)
    return Array{single_->dtype, single_->shape, {}};
  const std::string name = key + ".npy";
  DLC_ASSIGN(SharedBytes bytes, zip_->read(name, kMaxHeader + 12));
  return parse(key, bytes, zip_->sizeOf(name));
}

Result<Array> ArrayFile::parse(const std::string &key, const SharedBytes &bytes,
                               uint64_t size) const {
  return parseNpyOf(bytes, size).withContext("'{}': '{}'", path_, key);
}

namespace {

std::string_view descrOf(DType type) {
  for (const Kind &kind : kKinds)
    if (kind.dtype == type && !kind.convert)
      return kind.code;
  return "f4"; // BF16
}

std::string npyContent(const NamedArray &array) {
  std::string shape;
  for (int64_t dim : array.shape)
    shape += fmt::format("{}, ", dim);
  std::string_view code = descrOf(array.dtype);
  std::string header = fmt::format(
      "{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
      code.ends_with('1') ? '|' : '<', code, shape);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string content(kMagic);
  content += {'\1', '\0', char(header.size() & 0xff), char(header.size() >> 8)};
  content += header;
  if (array.dtype != DType::BF16)
    return content.append(reinterpret_cast<const char *>(array.bytes.data()),
                          array.bytes.size());
  for (size_t i = 0; i < array.bytes.size(); i += 2) {
    uint16_t bits;
    std::memcpy(&bits, array.bytes.data() + i, 2);
    float value = fromBf16(bits);
    content.append(reinterpret_cast<const char *>(&value), 4);
  }
  return content;
}

} // namespace

Status writeNpz(const std::string &path,
                const std::vector<NamedArray> &arrays) {
  std::vector<ZipMember> members;
  for (const NamedArray &array : arrays)
    members.push_back({array.key + ".npy", npyContent(array)});
  return writeFileAtomically(path, makeZip(members));
}

} // namespace dlc
