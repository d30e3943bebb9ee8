// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/ParquetFile.h"

#include "runtime/base/numbers/Checked.h"
#include "runtime/data/parquet/Thrift.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace dlc {
namespace {

constexpr std::string_view kMagic = "PAR1", kEncryptedMagic = "PARE";

// An element of the schema: a group of others, or a column.
struct SchemaElement {
  std::optional<int64_t> type;
  int64_t typeLength = 0, repetition = 0, children = 0, scale = 0,
          precision = 0;
  std::optional<int64_t> converted;
  int16_t logical = 0; // the union's field
  bool isSigned = true;
  std::string name;
};

SchemaElement readElement(ThriftReader &reader) {
  SchemaElement element;
  const auto readInteger = [&](int16_t, ThriftType type) {
    if (type == ThriftType::True || type == ThriftType::False)
      element.isSigned = reader.boolean(type);
    else
      reader.skip(type);
  };
  reader.eachField([&](int16_t id, ThriftType type) {
    switch (id) {
    case 1:
      element.type = reader.integer(type);
      break;
    case 2:
      element.typeLength = reader.integer(type);
      break;
    case 3:
      element.repetition = reader.integer(type);
      break;
    case 4:
      element.name = reader.binary(type);
      break;
    case 5:
      element.children = reader.integer(type);
      break;
    case 6:
      element.converted = reader.integer(type);
      break;
    case 7:
      element.scale = reader.integer(type);
      break;
    case 8:
      element.precision = reader.integer(type);
      break;
    case 10:
      reader.eachField([&](int16_t kind, ThriftType of) {
        element.logical = kind;
        if (kind == 10 && of == ThriftType::Struct)
          reader.eachField(readInteger);
        else
          reader.skip(of);
      });
      break;
    default:
      reader.skip(type);
    }
  });
  return element;
}

// By the logical type's field, and the older converted type.
constexpr int16_t kString = 1, kMap = 2, kList = 3, kEnum = 4, kDecimal = 5,
                  kDate = 6, kTime = 7, kTimestamp = 8, kInteger = 10,
                  kNull = 11, kJson = 12, kBson = 13, kUuid = 14, kFloat16 = 15;

int16_t logicalOf(const SchemaElement &element) {
  constexpr int16_t kOfConverted[] = {
      kString,  kMap,     kMap,     kList,      kEnum,      kDecimal,
      kDate,    kTime,    kTime,    kTimestamp, kTimestamp, kInteger,
      kInteger, kInteger, kInteger, kInteger,   kInteger,   kInteger,
      kInteger, kJson,    kBson,    kTime};
  const int64_t converted = element.converted.value_or(-1);
  if (element.logical || converted < 0 ||
      converted >= int64_t(std::size(kOfConverted)))
    return element.logical;
  return kOfConverted[converted];
}

bool isUnsigned(const SchemaElement &element) {
  const int64_t converted = element.converted.value_or(-1);
  return element.logical == kInteger ? !element.isSigned
                                     : converted >= 11 && converted <= 14;
}

void setOther(ParquetColumn &column, std::string_view what) {
  column.kind = ParquetKind::Other;
  column.what = what;
}

void setKind(const SchemaElement &element, ParquetColumn &column) {
  // A decimal of more digits is no double.
  constexpr int64_t kMostDigits = 15;
  column.scale = int(element.scale);
  const bool isBytes = column.type == ParquetType::Bytes,
             isFixed = column.type == ParquetType::FixedBytes;
  const int16_t logical = logicalOf(element);
  switch (logical) {
  case kDecimal:
    if (element.precision > kMostDigits || element.scale < 0 ||
        element.scale > element.precision || isBytes || element.typeLength > 16)
      return setOther(column, "decimals of more than 15 digits");
    column.kind = ParquetKind::Decimal;
    return;
  case kDate:
    return setOther(column, "dates");
  case kTime:
  case kTimestamp:
    return setOther(column, "times");
  case kNull:
    return setOther(column, "nothing but nulls");
  case kBson:
    return setOther(column, "BSON");
  case kUuid:
    return setOther(column, "UUIDs");
  case kFloat16:
    if (!isFixed || element.typeLength != 2)
      return setOther(column, "unknown values");
    column.kind = ParquetKind::Half;
    return;
  default:
    break;
  }
  switch (column.type) {
  case ParquetType::Boolean:
  case ParquetType::Int32:
  case ParquetType::Int64:
    column.kind =
        isUnsigned(element) ? ParquetKind::Unsigned : ParquetKind::Whole;
    return;
  case ParquetType::Float:
  case ParquetType::Double:
    column.kind = ParquetKind::Number;
    return;
  case ParquetType::Bytes:
    column.kind = ParquetKind::Text;
    column.what = logical == kString || logical == kEnum ? "text" : "bytes";
    return;
  case ParquetType::Int96:
    return setOther(column, "times");
  case ParquetType::FixedBytes:
    return setOther(column, "bytes");
  }
}

// The schema as columns: its elements are a tree in depth-first order.
class SchemaTree {
public:
  SchemaTree(const std::vector<SchemaElement> &elements,
             std::vector<ParquetColumn> &columns)
      : elements_(elements), columns_(columns) {}

  bool read() {
    if (elements_.empty())
      return false;
    const int64_t children = elements_[at_++].children;
    for (int64_t i = 0; i < children; ++i)
      if (!add("", 0, 0, 0, false, false))
        return false;
    return at_ == elements_.size();
  }

private:
  // The element at `at_` and what is below it; `isUnnamed`: a list's own, which
  // people do not see.
  bool add(const std::string &parent, int depth, int definition, int repetition,
           bool isUnnamed, bool isMap) {
    constexpr int kMostDepth = 60;
    if (at_ >= elements_.size() || depth > kMostDepth)
      return false;
    const SchemaElement &element = elements_[at_++];
    definition += element.repetition != 0;
    repetition += element.repetition == 2;
    const std::string name = isUnnamed        ? parent
                             : parent.empty() ? element.name
                                              : parent + "." + element.name;
    constexpr size_t kMostNames = 16 << 20; // bytes of all paths
    if ((names_ += name.size()) > kMostNames)
      return false;
    if (element.type)
      return addColumn(element, name, definition, repetition, isMap);
    const int16_t logical = logicalOf(element);
    for (int64_t i = 0; i < element.children; ++i)
      if (!add(name, depth + 1, definition, repetition,
               isListsOwn(element, logical, isUnnamed),
               isMap || logical == kMap))
        return false;
    return element.children > 0;
  }

  // Whether the child of `element` is a level of a list: the repeated one, and
  // its element where that is all that it has.
  bool isListsOwn(const SchemaElement &element, int16_t logical,
                  bool isUnnamed) const {
    if (logical == kList && element.children == 1)
      return true;
    return isUnnamed && element.repetition == 2 && element.children == 1 &&
           logical == 0;
  }

  bool addColumn(const SchemaElement &element, const std::string &name,
                 int definition, int repetition, bool isMap) {
    if (*element.type < 0 || *element.type > int64_t(ParquetType::FixedBytes))
      return false;
    ParquetColumn column;
    column.name = name;
    column.type = ParquetType(*element.type);
    if (column.type == ParquetType::FixedBytes &&
        (element.typeLength < 1 || element.typeLength > 1 << 20))
      return false;
    column.fixedBytes = uint32_t(element.typeLength);
    column.mostDefinition = uint8_t(definition);
    column.mostRepetition = uint8_t(repetition);
    if (isMap)
      setOther(column, "maps");
    else
      setKind(element, column);
    columns_.push_back(std::move(column));
    return true;
  }

  const std::vector<SchemaElement> &elements_;
  std::vector<ParquetColumn> &columns_;
  size_t at_ = 0, names_ = 0;
};

// A chunk and what its column is said to be.
struct ReadChunk {
  ParquetChunk chunk;
  int64_t type = -1;
  bool isElsewhere = false, isEncrypted = false;
};

ReadChunk readChunk(ThriftReader &reader) {
  ReadChunk read;
  int64_t dictionary = 0, data = 0, size = 0, values = 0;
  reader.eachField([&](int16_t id, ThriftType type) {
    if (id == 1)
      read.isElsewhere = !reader.binary(type).empty();
    else if (id == 3 && type == ThriftType::Struct)
      reader.eachField([&](int16_t field, ThriftType of) {
        if (field == 1)
          read.type = reader.integer(of);
        else if (field == 4)
          read.chunk.codec = int(reader.integer(of));
        else if (field == 5)
          values = reader.integer(of);
        else if (field == 7)
          size = reader.integer(of);
        else if (field == 9)
          data = reader.integer(of);
        else if (field == 11)
          dictionary = reader.integer(of);
        else
          reader.skip(of);
      });
    else {
      read.isEncrypted |= id == 8 || id == 9;
      reader.skip(type);
    }
  });
  const int64_t begin = dictionary > 0 ? std::min(dictionary, data) : data;
  read.chunk.begin = uint64_t(begin);
  read.chunk.size = uint64_t(size);
  read.chunk.values = uint64_t(values);
  return read;
}

class FooterReader {
public:
  explicit FooterReader(ParquetFile &file) : file_(file) {}

  Status read() {
    const std::string_view text = file_.file.text();
    if (text.ends_with(kEncryptedMagic) || text.starts_with(kEncryptedMagic))
      return failed("is encrypted: write it without a key");
    uint32_t size = 0;
    constexpr size_t kEnds = 12; // both magics and the footer's size
    if (text.size() < kEnds || !text.starts_with(kMagic))
      return failed("is no Parquet file");
    if (!text.ends_with(kMagic))
      return failed("is cut off: it does not end as a Parquet file");
    std::memcpy(&size, text.data() + text.size() - 8, sizeof size);
    if (size > text.size() - kEnds)
      return damaged();
    footer_ = text.size() - 8 - size;
    ThriftReader reader(file_.file.bytes().subspan(footer_, size));
    reader.eachField([&](int16_t id, ThriftType type) {
      if (id == 2)
        reader.eachElement(type, [&](ThriftType of) {
          if (!mayMake(size))
            return;
          schema_.push_back(of == ThriftType::Struct ? readElement(reader)
                                                     : SchemaElement());
          if (of != ThriftType::Struct)
            reader.skip(of);
        });
      else if (id == 3)
        file_.rows = uint64_t(reader.integer(type));
      else if (id == 4)
        reader.eachElement(type, [&](ThriftType of) {
          if (mayMake(size))
            addGroup(reader, of, size);
        });
      else if (id == 5)
        reader.eachElement(type, [&](ThriftType of) { addNote(reader, of); });
      else
        reader.skip(type);
    });
    if (!reader.ok() || made_ > size ||
        !SchemaTree(schema_, file_.columns).read())
      return damaged();
    return check();
  }

private:
  static Status damaged() { return failed("its footer is damaged"); }

  // Each element of the schema, group and chunk takes some bytes of a footer.
  bool mayMake(uint32_t footer) { return (made_ += 8) <= footer; }

  void addGroup(ThriftReader &reader, ThriftType type, uint32_t footer) {
    if (type != ThriftType::Struct)
      return reader.skip(type);
    groups_.emplace_back();
    uint64_t rows = 0;
    reader.eachField([&](int16_t id, ThriftType of) {
      if (id == 1)
        reader.eachElement(of, [&](ThriftType chunk) {
          if (chunk == ThriftType::Struct && mayMake(footer))
            groups_.back().push_back(readChunk(reader));
          else
            reader.skip(chunk);
        });
      else if (id == 3)
        rows = uint64_t(reader.integer(of));
      else
        reader.skip(of);
    });
    file_.groups.push_back({rows, {}});
  }

  void addNote(ThriftReader &reader, ThriftType type) {
    if (type != ThriftType::Struct)
      return reader.skip(type);
    std::string_view key, value;
    reader.eachField([&](int16_t id, ThriftType of) {
      if (id == 1)
        key = reader.binary(of);
      else if (id == 2)
        value = reader.binary(of);
      else
        reader.skip(of);
    });
    if (key == "huggingface")
      file_.features = value;
  }

  Status check() {
    std::optional<uint64_t> rows = 0, stored = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      ParquetGroup &group = file_.groups[i];
      if (groups_[i].size() != file_.columns.size())
        return damaged();
      rows = checkedAdd(*rows, group.rows);
      if (!rows || *rows > file_.rows)
        return damaged();
      for (size_t column = 0; column < groups_[i].size(); ++column) {
        DLC_TRY(checkChunk(groups_[i][column], file_.columns[column], group));
        // Chunks that share bytes would be decoded again and again.
        stored = checkedAdd(*stored, groups_[i][column].chunk.size);
        if (!stored || *stored > footer_)
          return damaged();
        group.chunks.push_back(groups_[i][column].chunk);
      }
    }
    return *rows == file_.rows && *rows < uint64_t(1) << 40 ? Status()
                                                            : damaged();
  }

  Status checkChunk(const ReadChunk &read, const ParquetColumn &column,
                    const ParquetGroup &group) const {
    if (read.isElsewhere)
      return failed("has its values in other files: name those");
    if (read.isEncrypted)
      return failed("is encrypted: write it without a key");
    const ParquetChunk &chunk = read.chunk;
    const auto end = checkedAdd(chunk.begin, chunk.size);
    const bool isWhole = end && *end <= footer_ && chunk.begin >= 4;
    const bool fits = column.mostRepetition ? chunk.values >= group.rows
                                            : chunk.values == group.rows;
    if (!isWhole || !fits || read.type != int64_t(column.type))
      return damaged();
    return {};
  }

  ParquetFile &file_;
  size_t footer_ = 0;
  uint64_t made_ = 0;
  std::vector<SchemaElement> schema_;
  std::vector<std::vector<ReadChunk>> groups_;
};

} // namespace

Status ParquetFile::decode(uint64_t bytes) const {
  const uint64_t most = (uint64_t(512) << 20) + 128 * file.size();
  if (decoded->fetch_add(bytes) + bytes <= most)
    return {};
  return limitExceeded("its pages claim more than {} bytes for a file of {}: "
                       "store it with less compression",
                       most, file.size());
}

Result<ParquetFile> openParquet(const std::string &path) {
  ParquetFile file;
  DLC_ASSIGN(file.file, MappedFile::open(path));
  DLC_TRY(FooterReader(file).read().withContext(fmt::format("'{}'", path)));
  return file;
}

} // namespace dlc
