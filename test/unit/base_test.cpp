// SPDX-License-Identifier: Apache-2.0
// runtime/base: conversions, atomic files and folders, JSON and safetensors
// that are damaged on purpose.
#include "runtime/base/Json.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/Packed.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/numbers/Philox.h"
#include "runtime/base/process/SharedLibrary.h"
#include "test/unit/TempFolder.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sys/resource.h>

using namespace dlc;

namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(asNumber<int>("-12"), -12);
  EXPECT_EQ(asNumber<uint64_t>("755", 8), 0755u);
  EXPECT_EQ(asNumber<double>("1e-3"), 1e-3);
  for (const char *text : {"", " 1", "1 ", "+1", "0x1", "1.5", "2147483648"})
    EXPECT_FALSE(asNumber<int>(text)) << text;
  EXPECT_FALSE(asNumber<uint64_t>("-1"));
  EXPECT_FALSE(asNumber<double>("1e999"));
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  const Status status =
      SharedLibrary::open({"libdlc-absent.so.7"}, "which tests need").status();
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_EQ(status.message().find("cannot load libdlc-absent.so.7, which tests "
                                  "need: libdlc-absent.so.7: "),
            0u)
      << status.message();
  auto libc = SharedLibrary::open({"libdlc-absent.so.7", "libc.so.6"}, "");
  ASSERT_TRUE(libc.ok());
  size_t (*length)(const char *) = nullptr;
  ASSERT_TRUE(libc->bind(length, "strlen", "1", "1").ok());
  EXPECT_EQ(length("abc"), 3u);
  EXPECT_EQ(libc->bind(length, "dlcAbsent", "1.2", "3.4").message(),
            libc->path() + " has no function 'dlcAbsent': it is version 1.2, "
                           "expected 3.4 or newer");
}

TEST(Packed, HoldsValuesInTheLowestBitsFirst) {
  using Floats = std::vector<float>;
  EXPECT_EQ(findPacked("INT8"), nullptr);
  EXPECT_EQ(unpack(*findPacked("INT4"), "\x8f\x07", 3), (Floats{-1, -8, 7}));
  EXPECT_EQ(unpack(*findPacked("UINT2"), "\xe4", 4), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(unpack(*findPacked("FLOAT4E2M1"), "\x71\x0b", 3),
            (Floats{0.5, 6, -1.5}));
  EXPECT_EQ(unpack(*findPacked("FLOAT8E4M3FN"), "\x7e\x01", 2),
            (Floats{448, std::ldexp(1.0f, -9)}));
  EXPECT_EQ(unpack(*findPacked("FLOAT8E5M2"), "\x7c\xfb", 2),
            (Floats{std::numeric_limits<float>::infinity(), -57344}));
  for (const char *name : {"FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT2"}) {
    const Packed &type = *findPacked(name);
    std::string codes;
    for (int code = 0; code < 256; ++code)
      codes += char(code);
    const size_t count = codes.size() * 8 / size_t(type.bits);
    const Floats values = unpack(type, codes, count);
    const Floats again = unpack(type, pack(type, values), count);
    for (size_t i = 0; i < count; ++i)
      EXPECT_TRUE(values[i] == again[i] ||
                  (std::isnan(values[i]) && std::isnan(again[i])));
  }
}

TEST(Status, CarriesItsContext) {
  Status status = corrupt("bad {}", 7).withContext("file");
  EXPECT_EQ(status.code(), Code::Corrupt);
  EXPECT_EQ(status.message(), "file: bad 7");
  EXPECT_TRUE(Status().withContext("file").ok());
  EXPECT_EQ(corrupt("bad").withContext("row {}", 7).message(), "row 7: bad");
  EXPECT_EQ(Result<int>(3).withContext("row {}", 7).value(), 3);
  EXPECT_EQ(Result<int>(failed("bad")).withContext("row").status().message(),
            "row: bad");
}

Result<int> half(int value) {
  if (value % 2)
    return failed("{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  DLC_ASSIGN(int once, half(value));
  return half(once);
}

TEST(Status, AssignReturnsTheError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
}

TEST(DType, HalfPrecisionGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float f16 = fromF16(bits), bf16 = fromBf16(bits);
    if (!std::isnan(f16)) {
      ASSERT_EQ(toF16(f16), bits);
    } else {
      ASSERT_TRUE(std::isnan(fromF16(toF16(f16))));
    }
    if (!std::isnan(bf16)) {
      ASSERT_EQ(toBf16(bf16), bits);
    } else {
      ASSERT_TRUE(std::isnan(fromBf16(toBf16(bf16))));
    }
  }
}

// Against the compiler's own conversion, around every f16 and between.
TEST(DType, F16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    float low = fromF16(bits), high = fromF16(bits + 1);
    if (std::isinf(high))
      break;
    float middle = low + (high - low) / 2;
    ASSERT_EQ(toF16(middle), bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(toF16(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(toF16(std::nextafter(middle, low)), bits);
  }
  EXPECT_EQ(toF16(65519.0f), 0x7bff);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toF16(-1e-9f), 0x8000);
}

TEST(Checked, RefusesOverflow) {
  EXPECT_EQ(checkedElements(std::vector<int64_t>{2, 3}), 6u);
  EXPECT_FALSE(checkedElements(std::vector<int64_t>{-1}));
  EXPECT_FALSE(
      checkedElements(std::vector<int64_t>{1 << 30, 1 << 30, 1 << 30}));
}

TEST(Hash, IsXxh3And256) {
  EXPECT_EQ(hashText(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca49599"
                        "1b7852b855");
}

class Files : public TempFolder {};

TEST_F(Files, MissingFileIsNamed) {
  Status status = MappedFile::open(path("none")).status();
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_NE(status.message().find("none"), std::string::npos);
}

TEST_F(Files, FolderIsNoFile) { EXPECT_FALSE(MappedFile::open(path("")).ok()); }

TEST_F(Files, ReadingHasALimit) {
  ASSERT_TRUE(writeFileAtomically(path("a"), "four").ok());
  EXPECT_EQ(readFile(path("a"), 3).status().code(), Code::Limit);
}

TEST(JsonGuard, RefusesDepthDuplicatesAndBadSyntax) {
  EXPECT_TRUE(parseJson(R"({"a": [{"a": 1}, {"a": 2}]})").ok());
  for (std::string text : {std::string(R"({"a": 1, "a": 2})"), std::string("{"),
                           std::string("\xff"), std::string(100000, '['),
                           std::string(40, '[') + std::string(40, ']')})
    EXPECT_EQ(parseJson(text).status().code(), Code::Corrupt);
}

TEST(JsonGuard, KeepsEveryKindOfValue) {
  std::string text = R"({"a":[1,-2,2.5,true,null,"x\u00e9",[],{}],"b":{}})";
  EXPECT_EQ(dumpJson(*parseJson(text)),
            R"({"a":[1,-2,2.5,true,null,"xé",[],{}],"b":{}})");
  EXPECT_EQ(dumpJson(*parseJson("[[1],[2,[3]],4]")), "[[1],[2,[3]],4]");
  EXPECT_EQ(dumpJson(Json("\xe9")), "\"\xef\xbf\xbd\"");
}

// Twice the keys took four times as long.
TEST(JsonGuard, TakesLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i)
    text += fmt::format(
        R"("t{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}},)", i);
  text.back() = '}';
  std::clock_t start = std::clock();
  EXPECT_EQ(parseJson(text)->size(), 100000u);
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
}

class Safetensors : public TempFolder {
protected:
  // A file with this header and so many bytes of data.
  Status read(const std::string &header, size_t bytes) {
    uint64_t size = header.size();
    std::string file(reinterpret_cast<char *>(&size), 8);
    return readRaw(file + header + std::string(bytes, '\1'));
  }
  Status readRaw(const std::string &content) {
    EXPECT_TRUE(writeFileAtomically(path("a"), content).ok());
    return SafetensorsFile::open(path("a")).status();
  }
};

TEST_F(Safetensors, GoesThereAndBack) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  int64_t b = -7;
  std::vector<NamedTensor> tensors = {
      {"b", DType::I64, {}, reinterpret_cast<std::byte *>(&b), 8},
      {"empty", DType::F32, {0, 4}, nullptr, 0},
      {"a", DType::F32, {2, 3}, reinterpret_cast<std::byte *>(a.data()), 24}};
  ASSERT_TRUE(writeSafetensors(path("a"), tensors, {{"key", "value"}}).ok());
  auto file = SafetensorsFile::open(path("a"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->metadata().at("key"), "value");
  const NamedTensor *found = file->find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(found->data, a.data(), 24), 0);
  EXPECT_EQ(file->find("c"), nullptr);
}

// Heads and tails of large writes lie off the blocks that disks have.
TEST_F(Files, LargeWritesPastTheCacheLeaveTheSameBytes) {
  std::string all;
  auto file = FileWriter::create(path("large"));
  ASSERT_TRUE(file.ok());
  file->bypassCache();
  for (const size_t size : {13ul, (9ul << 20) + 5, 3ul, 4ul << 20, 4096ul}) {
    std::string part(size, 0);
    for (size_t i = 0; i < size; ++i)
      part[i] = static_cast<char>((all.size() + i) * 2654435761u >> 13);
    ASSERT_TRUE(file->write(part).ok());
    all += part;
  }
  EXPECT_EQ(file->written(), all.size());
  ASSERT_TRUE(file->sync().ok());
  EXPECT_TRUE(readFile(path("large")).value() == all);
}

TEST_F(Files, LargeWritesPastTheCacheSayWhatDoesNotFit) {
  auto file = FileWriter::create(path("large"));
  ASSERT_TRUE(file.ok());
  file->bypassCache();
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 6 << 20, before.rlim_max };
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = file->write(std::string(9 << 20, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot write"), std::string::npos)
      << status.message();
}

TEST_F(Safetensors, HostileHeadersAreRefused) {
  auto entry = [](std::string dtype, std::string shape, std::string range) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + range + "}}";
  };
  EXPECT_TRUE(read(entry("F32", "[2]", "[0,8]"), 8).ok());
  std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":)";
  EXPECT_TRUE(read(two + "[4,8]}}", 8).ok());
  std::vector<std::pair<std::string, size_t>> cases = {
      {entry("F32", "[2]", "[0,8]"), 7},
      {entry("F32", "[2]", "[0,8]"), 9},
      {entry("F32", "[3]", "[0,8]"), 8},
      {entry("F32", "[-2]", "[0,8]"), 8},
      {entry("F32", "[4611686018427387906]", "[0,8]"), 8},
      {entry("F32", "[4294967296,4294967296]", "[0,0]"), 0},
      {entry("F32", "[2]", "[8,0]"), 8},
      {entry("F32", "[2]", "[18446744073709551612,4]"), 8},
      {entry("F99", "[2]", "[0,8]"), 8},
      {entry("F32", "2", "[0,8]"), 8},
      {entry("F32", "[2]", "[0,8,8]"), 8},
      {two + "[3,7]}}", 7},
      {two + "[5,9]}}", 9},
      {R"({"a":3})", 0},
      {"[]", 0},
      {"", 0}};
  for (auto &[header, bytes] : cases)
    EXPECT_EQ(read(header, bytes).code(), Code::Corrupt) << header;
  EXPECT_EQ(readRaw("").code(), Code::Corrupt);
  EXPECT_EQ(readRaw(std::string(8, '\xff')).code(), Code::Corrupt);
  EXPECT_EQ(readRaw(std::string("\x10\0\0\0\0\0\0\0{}", 10)).code(),
            Code::Corrupt);
}

// The known answers of the Random123 publication: zeros, ones, digits of pi.
TEST(Philox, KnownAnswers) {
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones}, {ones, ones, ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0},
                   {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

} // namespace
