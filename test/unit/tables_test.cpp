// SPDX-License-Identifier: Apache-2.0
// Tables: how records split, what a field is, which rows are found, by any
// number of parts.
#include "runtime/base/files/Files.h"
#include "runtime/data/tables/ColumnList.h"
#include "runtime/data/tables/CsvFiles.h"
#include "runtime/data/tables/TableSource.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

using namespace dlc;

namespace {

using Fields = std::vector<std::string>;

Fields split(std::string_view text, char separator = ',') {
  CsvRecord record(separator);
  const auto size = record.split(text);
  if (!size)
    return {"error: " + size.status().message()};
  Fields fields;
  for (size_t i = 0; i < record.fields(); ++i)
    fields.push_back(record.text(i));
  return fields;
}

TEST(CsvRecord, SplitsAsTheRfcSays) {
  EXPECT_EQ(split("aaa,bbb,ccc\r\nzzz"), (Fields{"aaa", "bbb", "ccc"}));
  EXPECT_EQ(split("\"aaa\",\"b\r\nbb\",\"c,c\"\n"),
            (Fields{"aaa", "b\r\nbb", "c,c"}));
  EXPECT_EQ(split("\"a \"\"b\"\" c\",\"\"\"\""), (Fields{"a \"b\" c", "\""}));
  EXPECT_EQ(split("a,,\n"), (Fields{"a", "", ""}));
  EXPECT_EQ(split("\"\",\" a \", a \t,\r\n"), (Fields{"", " a ", "a", ""}));
  EXPECT_EQ(split("a\tb,c\n", '\t'), (Fields{"a", "b,c"}));
  EXPECT_EQ(split("a,b\r"), (Fields{"a", "b"}));
  CsvRecord record(',');
  EXPECT_EQ(*record.split("ab,\"c\nd\"\r\nnext"), 10u);
  EXPECT_EQ(*record.split("\nnext"), 1u);
  EXPECT_TRUE(record.isBlank());
  EXPECT_EQ(*record.split("\"\"\n"), 3u);
  EXPECT_FALSE(record.isBlank());
}

TEST(CsvRecord, RefusesWhatTheRfcDoesNotHave) {
  EXPECT_NE(split("a,b\"c\n")[0].find("not quoted as a whole"),
            std::string::npos);
  EXPECT_NE(split("\"a\"b,c\n")[0].find("more behind"), std::string::npos);
  EXPECT_NE(split("\"a,b\n")[0].find("not closed"), std::string::npos);
  const std::string large(kMaxCsvRecord + 1, 'a');
  EXPECT_NE(split(large)[0].find("more than 16 MiB"), std::string::npos);
  EXPECT_NE(split("\"" + large)[0].find("more than 16 MiB"), std::string::npos);
}

TEST(CsvValue, IsWhatItSays) {
  for (const char *text : {"", "NA", "nan", "NaN", "null", "None"})
    EXPECT_EQ(csvValue(text).kind, CsvKind::Missing) << text;
  for (const char *text : {"a", "1a", "1 2", "0x10", "1,5", "--1", "+-1", "+",
                           "-", "e5", ".", "1e", "true"})
    EXPECT_EQ(csvValue(text).kind, CsvKind::Text) << text;
  for (const char *text : {"inf", "-inf", "1e400", "-Infinity"})
    EXPECT_EQ(csvValue(text).kind, CsvKind::NotFinite) << text;
  for (auto [text, number] :
       {std::pair("0.1", 0.1), std::pair("-1.5e-3", -1.5e-3),
        std::pair(".5", 0.5), std::pair("5.", 5.0), std::pair("1e5", 1e5),
        std::pair("1e-400", 0.0), std::pair("5e-324", 5e-324),
        std::pair("+2.5", 2.5), std::pair("9223372036854775808", 0x1p63),
        std::pair("0.1000000000000000055511151231257827", 0.1)}) {
    EXPECT_EQ(csvValue(text).kind, CsvKind::Number) << text;
    EXPECT_EQ(csvValue(text).number, number) << text;
  }
  for (auto [text, whole] :
       {std::pair("0", int64_t(0)), std::pair("-7", int64_t(-7)),
        std::pair("+7", int64_t(7)), std::pair("007", int64_t(7)),
        std::pair("9223372036854775807", INT64_MAX)}) {
    EXPECT_EQ(csvValue(text).kind, CsvKind::Whole) << text;
    EXPECT_EQ(csvValue(text).whole, whole) << text;
    EXPECT_EQ(csvValue(text).number, double(whole)) << text;
  }
}

TEST(ColumnList, NamesArraysAndColumns) {
  const std::vector<std::string> names = {"id", "a", "b", "c", "d..e", "label"};
  const auto lists = parseColumnLists("x:c,a..b;mask:d..e;y:label");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  ASSERT_EQ(lists->size(), 3u);
  EXPECT_EQ(*findColumns((*lists)[0], names), (std::vector<size_t>{3, 1, 2}));
  EXPECT_EQ(*findColumns((*lists)[1], names), (std::vector<size_t>{4}));
  for (const char *text : {"x", "x:", ":a", "x:a,", "x:a;x:b", "x:a;"})
    EXPECT_EQ(parseColumnLists(text).status().code(), Code::Usage) << text;
  const auto message = [&](std::vector<std::string> columns) {
    return findColumns({"x", std::move(columns)}, names).status().message();
  };
  EXPECT_EQ(message({"lable"}), "no column 'lable'; did you mean 'label'?");
  EXPECT_NE(message({"c..a"}).find("'c' comes behind 'a'"), std::string::npos);
  EXPECT_EQ(message({"a..c", "b"}), "column 'b' is there twice");
}

class Tables : public TempFolder {
public:
  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  // Of an array of 64-bit elements, read row by row.
  template <class T>
  static std::vector<T> values(const Source &source, const std::string &key) {
    const auto head = source.head(key);
    const auto rows = source.rows(key);
    EXPECT_TRUE(head.ok() && rows.ok())
        << head.status().message() << rows.status().message();
    if (!head.ok() || !rows.ok())
      return {};
    EXPECT_EQ(isFloat(head->dtype), (std::is_same_v<T, double>));
    size_t width = 1;
    for (size_t i = 1; i < head->shape.size(); ++i)
      width *= size_t(head->shape[i]);
    std::vector<T> all(width * size_t(head->rows()));
    for (int64_t row = 0; row < head->rows(); ++row) {
      auto *to =
          reinterpret_cast<std::byte *>(all.data() + size_t(row) * width);
      EXPECT_TRUE((*rows)->read(row, nullptr, to).ok());
    }
    return all;
  }
};

TEST_F(Tables, AreTheSameParsedEachTimeOrHeld) {
  const std::string file = write("a.csv", "\xef\xbb\xbfheight, width,y\r\n"
                                          "1.5,2,dog\r\n\r\n"
                                          "\"3\",-4e2,\"a \"\"cat\"\"\"\r\n"
                                          "0,7,dog");
  for (uint64_t held : {kHeldTable, uint64_t(0)}) {
    const auto source = openTable(file, {}, held);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_EQ((*source)->keys(), (Fields{"height", "width", "y", "x"}));
    EXPECT_EQ((*source)->head("x")->shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ((*source)->head("y")->shape, std::vector<int64_t>{3});
    EXPECT_EQ(values<double>(**source, "x"),
              (std::vector<double>{1.5, 2, 3, -400, 0, 7}));
    EXPECT_EQ(values<int64_t>(**source, "y"), (std::vector<int64_t>{1, 0, 1}));
    EXPECT_EQ((*source)->classes(), (Fields{"a \"cat\"", "dog"}));
    EXPECT_EQ((*source)->isSlow(), held == 0);
    EXPECT_EQ((*(*source)->rows("x"))->all() != nullptr, held > 0);
  }
}

TEST_F(Tables, TakeTheShapeOfAnInput) {
  const std::string file = write("a.csv", "a,b,c,d,k\n1,2,3,4,5\n6,7,8,9,0\n");
  SampleOptions options;
  options.columns = "y:k";
  const auto source = openTable(file, {});
  ASSERT_TRUE(source.ok());
  const std::vector<SampleInput> inputs = {{"x", {2, 2}}, {"y", {}, true}};
  const auto shaped = (*source)->shaped(inputs, options);
  ASSERT_TRUE(shaped.ok()) << shaped.status().message();
  EXPECT_EQ((*shaped)->head("x")->shape, (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ((*shaped)->head("x")->dtype, DType::I64);
  EXPECT_EQ(values<int64_t>(**shaped, "y"), (std::vector<int64_t>{5, 0}));
  // By their own names; what nobody takes may be text.
  const std::string texts = write("b.csv", "a,city,b\n1,Oslo,2\n3,Rom,4.5\n");
  const auto other = openTable(texts, {});
  ASSERT_TRUE(other.ok());
  const auto named = (*other)->shaped(
      std::vector<SampleInput>{{"b", {1}}, {"a", {}}}, SampleOptions());
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ((*named)->head("b")->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ((*named)->head("a")->shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(values<double>(**named, "b"), (std::vector<double>{2, 4.5}));
}

TEST_F(Tables, LargerThanAPart) {
  // 20 MB: rows whose line ends in quotes lie on the borders of what a thread
  // takes, and a field of 9 MB.
  std::string text = "n,y\n";
  int64_t rows = 0;
  for (; text.size() < (20 << 20); ++rows) {
    text += std::to_string(rows) + ",\"";
    text.append(size_t(rows % 97), rows % 3 ? '\n' : ',');
    text += rows == 5000 ? std::string(9 << 20, '\n') : "\"\"";
    text += "\"\n";
  }
  SampleOptions options;
  options.columns = "x:n";
  const auto source = openTable(write("large.csv", text), options);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const auto found =
      (*source)->shaped(std::vector<SampleInput>{{"x", {}}}, options);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const auto x = values<int64_t>(**found, "x");
  ASSERT_EQ(int64_t(x.size()), rows);
  for (int64_t i = 0; i < rows; ++i)
    ASSERT_EQ(x[size_t(i)], i);
}

TEST_F(Tables, SeveralFilesAreOne) {
  write("a-0.csv", "x,y\n1,0\n2,1\n");
  write("a-1.csv", "x,y\n");
  write("a-2.csv", "x,y\n3,0");
  const auto ranged = openTable(path("a-{0..2}.csv"), {});
  ASSERT_TRUE(ranged.ok()) << ranged.status().message();
  EXPECT_EQ(values<int64_t>(**ranged, "x"), (std::vector<int64_t>{1, 2, 3}));
  const auto listed = openTable(path("a-2.csv") + "," + path("a-0.csv"), {});
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(values<int64_t>(**listed, "x"), (std::vector<int64_t>{3, 1, 2}));
  EXPECT_NE(*(*ranged)->hash(2), *(*listed)->hash(1));
  EXPECT_EQ(*(*ranged)->hash(2), *(*ranged)->hash(1));
}

TEST_F(Tables, BadRowsAreLeftOutAsAWhole) {
  const std::string file =
      write("a.csv", "a,b,y\n1,2,u\n3,NA,zebra\n4,5\n\"6\"7,8,u\n9,0,v\n");
  SampleOptions options;
  options.badSamples = BadSamples::Skip;
  const auto source = openTable(file, options);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(values<int64_t>(**source, "x"), (std::vector<int64_t>{1, 2, 9, 0}));
  EXPECT_EQ(values<int64_t>(**source, "y"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ((*source)->classes(), (Fields{"u", "v"}));
}

TEST_F(Tables, ClassesMayBeGiven) {
  const std::string file = write("a.csv", "a,y\n1,cat\n2,10\n3,cat\n");
  SampleOptions options;
  options.classes = {"10", "dog", "cat"};
  const auto source = openTable(file, options);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(values<int64_t>(**source, "y"), (std::vector<int64_t>{2, 0, 2}));
}

} // namespace
