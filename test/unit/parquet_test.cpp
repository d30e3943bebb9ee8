// SPDX-License-Identifier: Apache-2.0
// Parquet: the numbers of pyarrow, DuckDB, Polars and fastparquet
// (test/refs/make_parquet.py), and what is damaged.
#include "runtime/base/files/Files.h"
#include "runtime/data/Npy.h"
#include "runtime/data/parquet/Cells.h"
#include "runtime/data/parquet/Compression.h"
#include "runtime/data/parquet/Encodings.h"
#include "runtime/data/tables/TableSource.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

using namespace dlc;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes all;
  for (int value : values)
    all.push_back(std::byte(value));
  return all;
}

std::string refs(const std::string &name) { return DLC_REFS "/" + name; }
std::string parquet(const std::string &name) {
  return refs("parquet/" + name + ".parquet");
}

// All of an array, as doubles where it is of floats.
std::vector<double> numbersOf(const Source &source, const std::string &key) {
  const auto head = source.head(key);
  const auto rows = source.rows(key);
  EXPECT_TRUE(head.ok() && rows.ok())
      << head.status().message() << rows.status().message();
  if (!head.ok() || !rows.ok() || head->rows() == 0)
    return {};
  size_t width = 1;
  for (size_t i = 1; i < head->shape.size(); ++i)
    width *= size_t(head->shape[i]);
  std::vector<double> all;
  std::vector<int64_t> row(width);
  for (int64_t i = 0; i < head->rows(); ++i) {
    EXPECT_TRUE(
        (*rows)
            ->read(i, nullptr, reinterpret_cast<std::byte *>(row.data()))
            .ok());
    for (const int64_t bits : row) {
      double number = double(bits);
      if (head->dtype == DType::F64)
        std::memcpy(&number, &bits, sizeof number);
      all.push_back(number);
    }
  }
  return all;
}

// What numpy has of it.
std::vector<double> expected(const std::string &key) {
  auto file = ArrayFile::open(refs("parquet_ref.npz"));
  EXPECT_TRUE(file.ok()) << file.status().message();
  auto array = file->read(key);
  EXPECT_TRUE(array.ok()) << array.status().message();
  std::vector<double> all;
  const auto add = [&]<class T>(T) {
    for (size_t i = 0; i < array->content.bytes.size() / sizeof(T); ++i) {
      T value;
      std::memcpy(&value, array->data() + i * sizeof value, sizeof value);
      all.push_back(double(value));
    }
  };
  switch (array->dtype) {
  case DType::F64:
    add(double());
    break;
  case DType::F32:
    add(float());
    break;
  case DType::F16:
    for (size_t i = 0; i < array->content.bytes.size() / 2; ++i) {
      uint16_t bits;
      std::memcpy(&bits, array->data() + i * 2, sizeof bits);
      all.push_back(double(fromF16(bits)));
    }
    break;
  case DType::I64:
    add(int64_t());
    break;
  case DType::I32:
    add(int32_t());
    break;
  case DType::U8:
  case DType::Bool:
    add(uint8_t());
    break;
  default:
    ADD_FAILURE() << key;
  }
  return all;
}

// A table's columns by their names; colours are its label.
std::shared_ptr<const Source> open(const std::string &path,
                                   const std::vector<std::string> &keys,
                                   uint64_t held = kHeldTable) {
  SampleOptions options;
  options.columns = "y:color";
  const auto source = openTable(path, options, held);
  EXPECT_TRUE(source.ok()) << source.status().message();
  std::vector<SampleInput> inputs;
  for (const std::string &key : keys)
    inputs.push_back({key, {}, key == "y"});
  const auto shaped = (*source)->shaped(inputs, options);
  EXPECT_TRUE(shaped.ok()) << shaped.status().message();
  return shaped.ok() ? *shaped : nullptr;
}

TEST(Parquet, HasTheNumbersThatWereWritten) {
  const std::vector<std::string> whole = {
      "int8",   "int16",  "int32", "int64", "uint8",   "uint16",
      "uint32", "uint64", "steps", "flag",  "constant"};
  for (const std::string name :
       {"snappy", "gzip_v2", "zstd_encodings", "lz4_plain", "none", "duckdb",
        "polars", "fastparquet"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> keys = whole;
    keys.insert(keys.end(), {"float32", "float64", "few", "y"});
    const bool isOfArrow = name != "duckdb" && name != "polars";
    if (isOfArrow && name != "fastparquet")
      keys.push_back("float16");
    if (name != "fastparquet")
      keys.insert(keys.end(), {"cents", "long"});
    // Held, and in a file.
    for (const uint64_t held : {kHeldTable, uint64_t(0)}) {
      const auto source = open(parquet(name), keys, held);
      ASSERT_TRUE(source);
      EXPECT_FALSE(source->isSlow());
      for (const std::string &key : keys) {
        const bool isWhole =
            std::count(whole.begin(), whole.end(), key) > 0 || key == "y";
        EXPECT_EQ(source->head(key)->dtype, isWhole ? DType::I64 : DType::F64)
            << key;
        EXPECT_EQ(numbersOf(*source, key), expected(key == "y" ? "color" : key))
            << key;
        EXPECT_TRUE((*source->rows(key))->isInMemory());
      }
      EXPECT_EQ(source->classes(),
                (std::vector<std::string>{"blue", "green", "red", "träume"}));
    }
  }
}

TEST(Parquet, ListsAreRowsOfATensor) {
  for (const std::string name : {"lists", "lists_v2"}) {
    SampleOptions options;
    options.columns = "x:vector;y:label";
    const auto source = openTable(parquet(name), options);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_EQ((*source)->head("x")->shape, (std::vector<int64_t>{120, 5}));
    EXPECT_EQ((*source)->head("x")->dtype, DType::F64);
    EXPECT_EQ(numbersOf(**source, "x"), expected("vector"));
    const auto shaped = (*source)->shaped(
        std::vector<SampleInput>{{"matrix", {2, 3}}, {"vector", {5, 1}}},
        options);
    ASSERT_TRUE(shaped.ok()) << shaped.status().message();
    EXPECT_EQ((*shaped)->head("matrix")->shape,
              (std::vector<int64_t>{120, 2, 3}));
    EXPECT_EQ((*shaped)->head("vector")->shape,
              (std::vector<int64_t>{120, 5, 1}));
    EXPECT_EQ(numbersOf(**shaped, "matrix"), expected("matrix"));
    // Beside others: whole numbers become such as the others are.
    options.columns = "x:matrix,vector";
    const auto both = openTable(parquet(name), options);
    ASSERT_TRUE(both.ok());
    EXPECT_EQ((*both)->head("x")->shape, (std::vector<int64_t>{120, 11}));
    const auto all = numbersOf(**both, "x");
    EXPECT_EQ(all[6], expected("vector")[0]);
    EXPECT_EQ(all[11], expected("matrix")[6]);
  }
}

TEST(Parquet, SeveralFilesAreOne) {
  const auto source =
      open(parquet("snappy") + "," + parquet("gzip_v2"), {"int32", "y"});
  ASSERT_TRUE(source);
  std::vector<double> both = expected("int32");
  const std::vector<double> second = both;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(numbersOf(*source, "int32"), both);
  EXPECT_NE(*source->hash(1), *open(parquet("snappy"), {"int32"})->hash(1));
}

std::string messageOf(const std::string &path, const std::string &columns,
                      BadSamples bad = BadSamples::Error) {
  SampleOptions options;
  options.columns = columns;
  options.badSamples = bad;
  const auto source = openTable(path, options);
  return source ? (*source)->head("x").status().message()
                : source.status().message();
}

TEST(Parquet, RowsWithoutAValueAreNamedOrLeftOut) {
  const std::string odd = parquet("odd");
  for (const auto &[columns, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"x:number;y:label", "row 1: column 'number': no value; "
                                "--bad-samples=skip leaves such rows out"},
           {"x:whole;y:name", "row 2: column 'whole': no value"},
           {"x:label;y:name", "row 3: column 'name': no value"},
           {"x:ragged;y:label", "row 2: column 'ragged': a list of another "
                                "length, expected [1] as in the first row"},
           {"x:name;y:label", "column 'name' has text, expected numbers"},
           {"x:day;y:label", "column 'day' has dates, expected numbers"},
           {"x:map.key_value.value;y:label", "has maps, expected numbers"}})
    EXPECT_NE(messageOf(odd, columns).find(message), std::string::npos)
        << messageOf(odd, columns);
  EXPECT_EQ(messageOf(odd, "x:place.x,place.y;y:label"), "");
  EXPECT_NE(messageOf(parquet("brotli"), "x:int8")
                .find("its compression is Brotli: write it with Snappy, gzip"),
            std::string::npos);

  SampleOptions options;
  options.columns = "x:number,whole;y:name";
  options.badSamples = BadSamples::Skip;
  const auto source = openTable(odd, options);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(numbersOf(**source, "x"), (std::vector<double>{1.5, 1, 2.5, 5}));
  EXPECT_EQ(numbersOf(**source, "y"), (std::vector<double>{0, 1}));
  EXPECT_EQ((*source)->classes(), (std::vector<std::string>{"a", "b"}));
  options.columns = "x:ragged;y:label";
  const auto ragged = openTable(odd, options);
  EXPECT_EQ(numbersOf(**ragged, "x"), (std::vector<double>{1, 2, 5}));
}

TEST(Parquet, ClassesMayBeGiven) {
  SampleOptions options;
  options.columns = "x:int8;y:color";
  options.classes = {"träume", "red", "blue"};
  const auto source = openTable(parquet("snappy"), options);
  EXPECT_NE((*source)->head("y").status().message().find(
                "row 1: column 'color': 'green' is none of the 3 classes"),
            std::string::npos);
  options.columns = "x:int8;y:few";
  options.classes = {"0", "0.25", "0.5", "0.75", "1"};
  const auto numbers = openTable(parquet("snappy"), options);
  std::vector<double> few = expected("few");
  for (double &value : few)
    value *= 4;
  EXPECT_EQ(numbersOf(**numbers, "y"), few);
}

class DamagedParquet : public TempFolder {};

TEST_F(DamagedParquet, IsReadWithinItsBytes) {
  for (const std::string name :
       {"none", "zstd_encodings", "gzip_v2", "lists"}) {
    const auto whole = readFile(parquet(name));
    ASSERT_TRUE(whole.ok());
    uint64_t random = 1;
    for (int i = 0; i < 150; ++i) {
      std::string text = *whole;
      random = random * 6364136223846793005u + 1442695040888963407u;
      // Pages and the footer alike.
      const size_t at =
          i % 2 ? random % text.size() : text.size() - 1 - random % 4000;
      text[at] = char(text[at] ^ (1 + (random >> 40) % 255));
      std::ofstream(path("a.parquet"), std::ios::binary) << text;
      SampleOptions options;
      options.columns =
          name == "lists" ? "x:vector,matrix;y:label" : "x:int32,few;y:color";
      options.badSamples = i % 3 ? BadSamples::Error : BadSamples::Skip;
      const auto source = openTable(path("a.parquet"), options);
      if (!source)
        continue;
      const auto head = (*source)->head("x"); // reads all
      if (head)
        continue;
      EXPECT_NE(head.status().message().find("a.parquet"), std::string::npos)
          << head.status().message();
    }
  }
}

TEST_F(DamagedParquet, HasAPlace) {
  const auto message = [&](const std::string &text) {
    std::ofstream(path("a.parquet"), std::ios::binary) << text;
    return messageOf(path("a.parquet"), "x:int32;y:int8");
  };
  const std::string whole = *readFile(parquet("none"));
  EXPECT_NE(message("PAR1").find("a.parquet': is no Parquet file"),
            std::string::npos);
  EXPECT_NE(message(whole.substr(0, 9000)).find("is cut off"),
            std::string::npos);
  EXPECT_NE(message("PARE" + whole.substr(4)).find("is encrypted"),
            std::string::npos);
  std::string other = whole;
  other[whole.size() - 5] = 127;
  EXPECT_NE(message(other).find("its footer is damaged"), std::string::npos);
  // Of the first column, whose pages begin the file: a byte of its values.
  other = whole;
  other[200] = char(other[200] ^ 1);
  EXPECT_NE(message(other).find("column 'int8': a page is damaged: its "
                                "checksum is another"),
            std::string::npos)
      << message(other);
  std::ofstream(path("b.parquet"), std::ios::binary) << whole;
  EXPECT_NE(messageOf(path("b.parquet") + "," + parquet("lists"), "x:int8")
                .find("its columns are others than those of"),
            std::string::npos);
  std::ofstream(path("b.csv")) << "int8\n1\n";
  EXPECT_NE(messageOf(path("b.parquet") + "," + path("b.csv"), "x:int8")
                .find("expected files of one format"),
            std::string::npos);
}

TEST(Parquet, DecodesIntoAFolderThatIsThere) {
  const char *before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  const auto source = openTable(parquet("none"), {}, 0);
  SampleOptions options;
  options.columns = "y:color";
  const auto shaped =
      (*source)->shaped(std::vector<SampleInput>{{"int8", {}}}, options);
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_NE(shaped.status().message().find(
                "a table decoded takes 960 B, for which '/no/such/folder' "
                "has no file: No such file or directory; TMPDIR names another"),
            std::string::npos)
      << shaped.status().message();
}

TEST(Compression, RefusesWhatIsCutOff) {
  // "abcdabcdabcd!" of 13 bytes: a literal of 4, a copy of 8 that reads what it
  // writes, and a literal.
  const Bytes snappy =
      bytes({13, 3 << 2, 'a', 'b', 'c', 'd', 4 << 2 | 1, 4, 0, '!'});
  const Bytes lz4 = bytes({4 << 4 | 4, 'a', 'b', 'c', 'd', 4, 0, 1 << 4, '!'});
  for (const auto &[codec, packed] :
       {std::pair(1, snappy), std::pair(7, lz4)}) {
    Bytes to(13);
    ASSERT_TRUE(decompress(codec, packed, to).ok()) << codec;
    EXPECT_EQ(std::memcmp(to.data(), "abcdabcdabcd!", 13), 0);
    for (size_t size = 0; size < packed.size(); ++size)
      EXPECT_FALSE(decompress(codec, std::span(packed).first(size), to).ok());
    Bytes less(12);
    EXPECT_FALSE(decompress(codec, packed, less).ok());
  }
  Bytes to(4);
  EXPECT_FALSE(decompress(1, bytes({4, 0, 'a', 1, 9}), to).ok()); // before it
  EXPECT_FALSE(decompress(2, bytes({31, 139, 8, 0}), to).ok());
  EXPECT_FALSE(decompress(6, bytes({40, 181, 47, 253}), to).ok());
}

TEST(Runs, AreTheExampleOfTheFormat) {
  // 0 to 7 in 3 bits each, as Encodings.md packs them, then 4 times 5.
  std::vector<uint32_t> values;
  EXPECT_TRUE(readRuns(bytes({3, 0x88, 0xC6, 0xFA, 8, 5}), 3, 12, values));
  EXPECT_EQ(values,
            (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5}));
  EXPECT_FALSE(readRuns(bytes({3, 0x88, 0xC6}), 3, 8, values));
  EXPECT_FALSE(readRuns(bytes({0, 1}), 3, 8, values));
  EXPECT_FALSE(readRuns({}, 3, 1, values));
}

// Bytes of mapped files that count as this process's memory.
int64_t sharedBytes() {
  int64_t all = 0, resident = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> shared;
  return shared * 4096;
}

TEST(Cells, ReleasedKeepTheirNumbers) {
  constexpr uint64_t kCount = 4 << 20;
  for (const uint64_t held : {uint64_t(0), kCount * 8}) {
    auto made = Cells::make(kCount, held);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Cells cells = std::move(*made);
    const int64_t before = sharedBytes();
    for (uint64_t i = 0; i < kCount; ++i)
      *cells.at(i) = i * 7;
    const int64_t written = sharedBytes();
    cells.release(std::as_bytes(std::span(cells.at(0), kCount)));
    if (held == 0) {
      EXPECT_GT(written - before, int64_t(kCount * 8) * 3 / 4);
      EXPECT_LT(sharedBytes() - before, int64_t(kCount * 8) / 4);
    }
    for (uint64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(*cells.at(i), i * 7);
  }
}

} // namespace
