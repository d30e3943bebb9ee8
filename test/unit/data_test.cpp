// SPDX-License-Identifier: Apache-2.0
// runtime/data: numpy's files whole and damaged, checks against a program's
// inputs, conversions, and the order of samples.
#include "runtime/data/Convert.h"
#include "runtime/data/Loader.h"
#include "test/unit/TempFolder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

using namespace dlc;

namespace {

template <class T>
NamedArray named(std::string key, DType dtype, std::vector<int64_t> shape,
                 const std::vector<T> &values) {
  return {std::move(key), dtype, std::move(shape),
          std::as_bytes(std::span(values))};
}

template <class T> std::vector<T> numbers(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(i);
  return values;
}

std::string npy(const std::string &header, const std::string &data) {
  std::string text = "\x93NUMPY";
  text += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return text + header + data;
}

Status parse(const std::string &content) {
  auto copy = std::make_shared<std::string>(content);
  return parseNpy({std::as_bytes(std::span(*copy)), copy}).status();
}

TEST(Npy, HeadersAsNumpyWritesThem) {
  EXPECT_TRUE(parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(2,), }  \n",
                        std::string(8, 0)))
                  .ok());
  EXPECT_TRUE(parse(npy("{'descr': '|u1', 'fortran_order': False, 'shape': "
                        "(), }\n",
                        "a"))
                  .ok());
  EXPECT_TRUE(parse(npy("{'descr': '<i8', 'fortran_order': True, 'shape': "
                        "(1,), }\n",
                        std::string(8, 0)))
                  .ok());
}

// Element (i, j, k) of a column-major array [2, 3, 2] is number i + 2j + 6k.
TEST(Npy, ColumnMajorInRows) {
  auto content = std::make_shared<std::string>(
      npy("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 2), }\n",
          std::string("\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\10\0\11\0"
                      "\12\0\13\0",
                      24)));
  auto array = parseNpy({std::as_bytes(std::span(*content)), content});
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3, 2}));
  std::vector<int32_t> found(12);
  ASSERT_EQ(array->content.bytes.size(), 48u);
  std::memcpy(found.data(), array->data(), 48);
  EXPECT_EQ(found,
            (std::vector<int32_t>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}));
}

TEST(Npy, RefusalsSayWhy) {
  auto refuse = [](std::string descr, std::string order, std::string shape,
                   size_t bytes, std::string message) {
    Status status =
        parse(npy("{'descr': " + descr + ", 'fortran_order': " + order +
                      ", 'shape': " + shape + ", }\n",
                  std::string(bytes, 0)));
    EXPECT_EQ(status.code(), Code::Failed);
    EXPECT_NE(status.message().find(message), std::string::npos)
        << status.message();
  };
  refuse("'<c8'", "False", "(1,)", 8, "<c8");
  refuse("'<U1'", "False", "(2,)", 8, "<U1");
  refuse("'|O'", "False", "(2,)", 8, "|O");
  refuse("'>f4'", "False", "(2,)", 8, "big-endian");
  refuse("[('a', '<f4')]", "False", "(2,)", 8, "[('a'");
  refuse("'<f4'", "True", "(2, 2)", 8, "8 bytes");
  refuse("'<f4'", "False", "(3,)", 8, "8 bytes");
  refuse("'<f4'", "False", "(-2,)", 8, "shape");
  refuse("'<f4'", "False", "(4611686018427387906,)", 8, "8 bytes");
  refuse("'<f4'", "False", "(99999999999999999999,)", 8, "shape");
  refuse("'<f4'", "Maybe", "(2,)", 8, "fortran_order");
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse("\x93NUMPY").ok());
  EXPECT_FALSE(parse(npy("{", "")).ok());
  EXPECT_FALSE(parse(npy("{'descr': '<f4'}", "")).ok());
}

class Files : public TempFolder {
protected:
  std::string write(const std::vector<NamedArray> &arrays) {
    EXPECT_TRUE(writeNpz(path("data.npz"), arrays).ok());
    return path("data.npz");
  }
  Result<Dataset> opened(const std::vector<InputSpec> &inputs, int64_t batch,
                         const SampleOptions &options = {}) {
    DLC_ASSIGN(auto source, openSource(path("data.npz"), options));
    return Dataset::open(std::move(source), inputs, batch, options);
  }
  Status open(const std::vector<InputSpec> &inputs, int64_t batch = 2) {
    return opened(inputs, batch).status();
  }
  void expectRefused(const std::vector<InputSpec> &inputs,
                     std::vector<std::string> words, int64_t batch = 2) {
    Status status = open(inputs, batch);
    EXPECT_EQ(status.code(), Code::Failed);
    for (const std::string &word : words)
      EXPECT_NE(status.message().find(word), std::string::npos)
          << status.message();
  }
};

TEST_F(Files, NpzGoesThereAndBack) {
  auto x = numbers<float>(6);
  auto y = numbers<int64_t>(2);
  auto file = ArrayFile::open(write(
      {named("x", DType::F32, {2, 3}, x), named("y", DType::I64, {2}, y)}));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->keys(), (std::vector<std::string>{"x", "y"}));
  auto array = file->read("x");
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(array->data(), x.data(), 24), 0);
  EXPECT_NE(file->read("z").status().message().find("x, y"), std::string::npos);
}

TEST_F(Files, MembersOfOneNameAreRefused) {
  const std::string array = npy(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "abcd");
  ASSERT_TRUE(writeFileAtomically(path("data.npz"), makeZip({{"x.npy", array},
                                                             {"y.npy", array},
                                                             {"x.npy", array}}))
                  .ok());
  EXPECT_NE(ArrayFile::open(path("data.npz"))
                .status()
                .message()
                .find("holds 'x.npy' twice"),
            std::string::npos);
}

TEST_F(Files, LocalNamesAreThoseOfTheDirectory) {
  std::string zip = makeZip({{"x.npy", "abc"}});
  zip[zip.find("x.npy")] = 'z';
  ASSERT_TRUE(writeFileAtomically(path("data.npz"), zip).ok());
  EXPECT_NE(ArrayFile::open(path("data.npz"))
                ->read("x")
                .status()
                .message()
                .find("its header has another name"),
            std::string::npos);
}

// Nothing is allocated for an array that has the wrong shape: the content is
// not even there.
TEST_F(Files, ShapesAreComparedBeforeInflating) {
  const std::string head =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 9), }\n", "");
  std::string zip = makeZip({{"x.npy", head + std::string(144, 0)}});
  const size_t content = zip.find(head) + head.size();
  zip[content] = 1; // the checksum would be wrong
  ASSERT_TRUE(writeFileAtomically(path("data.npz"), zip).ok());
  expectRefused({{"x", DType::F32, {2, 9}, 0, false}}, {"checksum"});
  expectRefused({{"x", DType::F32, {2, 8}, 0, false}}, {"[9]", "[8]"});
  const auto array = ArrayFile::open(path("data.npz"))->head("x");
  EXPECT_EQ(array->shape, (std::vector<int64_t>{4, 9}));
}

TEST_F(Files, HeadersMustFitTheirMembers) {
  const std::string head =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 9), }\n", "");
  for (size_t bytes : {0u, 143u, 145u, 200'000u}) {
    ASSERT_TRUE(
        writeFileAtomically(path("data.npz"),
                            makeZip({{"x.npy", head + std::string(bytes, 0)}}))
            .ok());
    EXPECT_NE(
        ArrayFile::open(path("data.npz"))
            ->head("x")
            .status()
            .message()
            .find(fmt::format("has {} bytes of data, expected 144", bytes)),
        std::string::npos);
  }
}

TEST_F(Files, HeadersHaveEachKeyOnce) {
  const std::string order = "'fortran_order': False, ", shape = "'shape': (1,)",
                    keys = "'descr': '<f4', " + order + shape;
  for (const std::string &header :
       {keys + ", " + shape, keys + ", 'x': ''", order + shape,
        "'descr': (1,), " + order + shape}) {
    const auto zip = makeZip({{"x.npy", npy("{" + header + "}", "abcd")}});
    ASSERT_TRUE(writeFileAtomically(path("data.npz"), zip).ok());
    expectRefused({{"x", DType::F32, {1}, 0, false}}, {"header is damaged"});
  }
}

// A shape without elements may have dimensions whose product has no number.
TEST_F(Files, HugeDimensionsOfNothingAreRefused) {
  const std::string head = npy("{'descr': '<i8', 'fortran_order': False, "
                               "'shape': (0, 4611686018427387904, 8), }\n",
                               "");
  ASSERT_TRUE(
      writeFileAtomically(path("data.npz"), makeZip({{"y.npy", head}})).ok());
  expectRefused({{"y", DType::I64, {2}, 10, true}},
                {"has too many labels a sample, expected 1"});
}

// Any changed byte of a sample and any cut is an error, never a crash.
TEST_F(Files, DamageIsFound) {
  auto x = numbers<float>(200);
  std::string content = *readFile(write({named("x", DType::F32, {200}, x)}));
  auto readX = [&](const std::string &bytes) -> Status {
    EXPECT_TRUE(writeFileAtomically(path("bad.npz"), bytes).ok());
    DLC_ASSIGN(ArrayFile file, ArrayFile::open(path("bad.npz")));
    return file.read("x").status();
  };
  ASSERT_TRUE(readX(content).ok());
  for (size_t at = 200; at < 900; at += 7) {
    std::string damaged = content;
    damaged[at] ^= 1;
    EXPECT_FALSE(readX(damaged).ok()) << at;
  }
  for (size_t size = 0; size < content.size(); size += 13)
    EXPECT_FALSE(readX(content.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < content.size(); at += 5) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)readX(damaged).ok(); // some bytes, as dates, mean nothing
  }
}

TEST_F(Files, ChecksSayFoundAndExpected) {
  auto x = numbers<float>(24), f = numbers<float>(4);
  auto y = numbers<int64_t>(4), z = numbers<int64_t>(3);
  write({named("x", DType::F32, {4, 2, 3}, x), named("y", DType::I64, {4}, y),
         named("f", DType::F32, {4}, f), named("z", DType::I64, {3}, z),
         named("none", DType::F32, {0, 3}, std::vector<float>())});
  InputSpec good{"x", DType::F32, {2, 2, 3}};
  InputSpec label{"y", DType::I64, {2}, 4, true};
  EXPECT_TRUE(open({good, label}).ok()) << open({good, label}).message();
  expectRefused({{"x", DType::F32, {2, 3, 2}}}, {"'x'", "[2, 3]", "[3, 2]"});
  expectRefused({{"x", DType::F32, {2, 6}}}, {"'x'", "[2, 3]", "[6]"});
  expectRefused({{"w", DType::F32, {2, 6}}}, {"'w'", "x, y"});
  expectRefused({good, {"y", DType::I64, {2}, 3, true}},
                {"'y'", "label 3", "row 3", "0 to 2"});
  expectRefused({good, {"f", DType::I64, {2}, 4, true}}, {"'f'", "f32"});
  expectRefused({good, {"z", DType::I64, {2}, 4, true}}, {"'z'", "3", "4"});
  expectRefused({good, {"x", DType::F32, {2}, 0, true}}, {"6 labels", "1"});
  expectRefused({{"none", DType::F32, {2, 3}}}, {"no samples"});
}

TEST_F(Files, LabelsMayHaveAnyShape) {
  auto x = numbers<int64_t>(32);
  write({named("x", DType::I64, {4, 8}, x), named("y", DType::I64, {4, 8}, x)});
  EXPECT_TRUE(
      open({{"x", DType::I64, {2, 8}, 32}, {"y", DType::I64, {16}, 32, true}})
          .ok());
}

TEST_F(Files, ImagesAreScaledToOne) {
  std::vector<uint8_t> x = {0, 51, 255, 102};
  write({named("x", DType::U8, {2, 2}, x)});
  auto values = [&](std::optional<double> scale) {
    SampleOptions options;
    options.scale = scale;
    auto data = opened({{"x", DType::F32, {1, 2}}}, 1, options);
    std::array<float, 2> sample{};
    EXPECT_TRUE(
        data->columns()[0]
            .copySample(1, nullptr, reinterpret_cast<std::byte *>(&sample))
            .ok());
    return sample;
  };
  EXPECT_EQ(values({}), (std::array<float, 2>{1, 102 / 255.0f}));
  EXPECT_EQ(values(1), (std::array<float, 2>{255, 102}));
  EXPECT_EQ(values(2), (std::array<float, 2>{510, 204}));
}

TEST(Convert, KeepsValuesBetweenTypes) {
  std::array<float, 3> from = {0, 1, 100};
  for (DType middle : {DType::F16, DType::BF16, DType::F64, DType::F32}) {
    std::array<std::byte, 24> stored{};
    std::array<float, 3> back{};
    converter(DType::F32, middle, false)(
        reinterpret_cast<std::byte *>(from.data()), stored.data(), 3, 1);
    converter(middle, DType::F32, false)(
        stored.data(), reinterpret_cast<std::byte *>(back.data()), 3, 1);
    EXPECT_EQ(back, from) << nameOf(middle);
  }
  EXPECT_EQ(converter(DType::F32, DType::I64, false), nullptr);
}

TEST(Order, IsAPermutationOfItsSeed) {
  auto order = shuffledOrder(1000, 1, 0);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
  EXPECT_NE(order, sorted);
  EXPECT_EQ(order, shuffledOrder(1000, 1, 0));
  EXPECT_NE(order, shuffledOrder(1000, 2, 0));
  EXPECT_NE(order, shuffledOrder(1000, 1, 1));
}

// The order is part of what a run repeats: it must not change between versions.
TEST(Order, IsTheSameEverywhere) {
  EXPECT_EQ(shuffledOrder(8, 7, 3),
            (std::vector<int64_t>{4, 7, 3, 1, 2, 6, 0, 5}));
}

class Loading : public Files {
protected:
  void SetUp() override {
    auto x = numbers<int64_t>(23);
    write({named("x", DType::I64, {23, 1}, x)});
  }
  // The samples of steps [first, last).
  std::vector<int64_t> load(Sampling sampling, int64_t first, int64_t last) {
    auto data =
        opened({{"x", DType::I64, {sampling.batch, 1}}}, sampling.batch);
    EXPECT_TRUE(data.ok()) << data.status().message();
    Loader loader(std::span(&*data, 1), sampling, first, last);
    std::vector<int64_t> samples;
    for (;;) {
      const auto batch = loader.next();
      EXPECT_TRUE(batch.ok());
      if (!batch.ok() || !*batch)
        return samples;
      std::vector<int64_t> part(static_cast<size_t>(sampling.batch));
      std::memcpy(part.data(), (**batch).batch[0].data(),
                  (**batch).batch[0].size());
      samples.insert(samples.end(), part.begin(), part.end());
    }
  }
};

TEST_F(Loading, InOrderAndDropsTheRest) {
  auto samples = load({.batch = 5, .shuffle = false}, 0, 8);
  ASSERT_EQ(samples.size(), 40u);
  for (size_t i = 0; i < 40; ++i)
    EXPECT_EQ(samples[i], static_cast<int64_t>(i % 20));
}

TEST_F(Loading, ResumesAnywhere) {
  Sampling sampling{.batch = 4, .seed = 9};
  auto whole = load(sampling, 0, 30);
  for (int64_t first : {1, 4, 5, 17}) {
    auto rest = load(sampling, first, 30);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + first * 4,
                           whole.end()));
  }
}

TEST_F(Loading, WindowsAreWholeInAnEpoch) {
  // 23 samples hold two windows of 2 * 4, then the order begins again.
  auto samples = load({.batch = 4, .window = 2, .shuffle = false}, 0, 3);
  ASSERT_EQ(samples.size(), 24u);
  for (size_t i = 0; i < 24; ++i)
    EXPECT_EQ(samples[i], static_cast<int64_t>(i % 16));
}

TEST_F(Loading, RanksShareTheOrderOfOne) {
  auto one = load({.batch = 6, .seed = 3}, 0, 9);
  auto a = load({.batch = 3, .rank = 0, .world = 2, .seed = 3}, 0, 9);
  auto b = load({.batch = 3, .rank = 1, .world = 2, .seed = 3}, 0, 9);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i], i % 6 < 3 ? a[i / 6 * 3 + i % 3] : b[i / 6 * 3 + i % 3]);
}

TEST_F(Loading, EpochsDifferAndCoverTheSamples) {
  auto samples = load({.batch = 23, .seed = 3}, 0, 2);
  std::vector<int64_t> first(samples.begin(), samples.begin() + 23);
  std::vector<int64_t> second(samples.begin() + 23, samples.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 23u);
}

TEST_F(Loading, OtherRanksGoOnWithWhatIsLeft) {
  // Three ranks take two updates of 6, then two ranks take the epoch's rest.
  Sampling three{.batch = 2, .world = 3, .seed = 3};
  std::vector<int64_t> taken;
  for (three.rank = 0; three.rank < 3; ++three.rank)
    for (int64_t sample : load(three, 0, 2))
      taken.push_back(sample);
  Sampling two{.batch = 2, .world = 2, .seed = 3};
  two.since = 2;
  two.from = three.cursorAfter(2, 23);
  EXPECT_EQ(two.from.epoch, 0);
  EXPECT_EQ(two.from.sample, 12);
  std::vector<int64_t> next;
  for (two.rank = 0; two.rank < 2; ++two.rank) {
    auto own = load(two, 2, 9);
    taken.insert(taken.end(), own.begin(), own.begin() + 2 * 2);
    next.insert(next.end(), own.begin() + 2 * 2, own.end());
  }
  EXPECT_EQ(taken.size(), 20u); // 3 are left out
  EXPECT_EQ(std::set<int64_t>(taken.begin(), taken.end()).size(), 20u);
  EXPECT_EQ(std::set<int64_t>(next.begin(), next.end()).size(), 20u);
}

TEST(Cursors, AreTheSameFromAnywhereOfARun) {
  const Sampling whole{.batch = 2, .window = 2, .world = 2};
  for (int64_t since = 0; since < 9; ++since) {
    Sampling rest = whole;
    rest.since = since;
    rest.from = whole.cursorAfter(since, 27);
    for (int64_t updates = since; updates < 20; ++updates) {
      const Cursor cursor = rest.cursorAfter(updates, 27);
      EXPECT_EQ(cursor.epoch, updates / 3);
      EXPECT_EQ(cursor.sample, updates % 3 * 8);
    }
  }
}

TEST(Cursors, ARestThatIsTooSmallIsLeftOut) {
  const Sampling sampling{.batch = 5, .since = 4, .from = {2, 8}};
  EXPECT_EQ(sampling.cursorAfter(4, 12).epoch, 3);
  EXPECT_EQ(sampling.cursorAfter(4, 12).sample, 0);
  EXPECT_EQ(sampling.cursorAfter(6, 12).epoch, 4);
}

TEST_F(Loading, FillsUpTheLastUpdate) {
  // 11 samples are left for the 12 of the second update, 10 of 24 for the
  // other.
  for (const int64_t window : {1, 2, 4}) {
    Sampling sampling{.batch = 2,
                      .window = window,
                      .world = 3,
                      .shuffle = false,
                      .pads = true};
    const int64_t all = sampling.samplesOfUpdate(),
                  updates = (23 + all - 1) / all;
    EXPECT_EQ(sampling.updatesPerEpoch(std::array<int64_t, 1>{23}), updates);
    EXPECT_EQ(sampling.cursorAfter(updates, 23).epoch, 1);
    EXPECT_EQ(sampling.cursorAfter(updates, 23).sample, 0);
    std::map<int64_t, int> taken;
    double last = 0; // weight of the last update
    for (sampling.rank = 0; sampling.rank < 3; ++sampling.rank) {
      auto data = opened(
          {{"x", DType::I64, {2, 1}},
           {.key = "w", .dtype = DType::F32, .shape = {2}, .isWeight = true}},
          2);
      ASSERT_TRUE(data.ok()) << data.status().message();
      Loader loader(std::span(&*data, 1), sampling, 0, updates);
      for (int64_t batch = 0; batch < updates * window; ++batch) {
        const auto made = loader.next();
        ASSERT_TRUE(made.ok() && *made);
        int64_t samples[2];
        float weights[2];
        std::memcpy(samples, (*made)->batch[0].data(), sizeof samples);
        std::memcpy(weights, (*made)->batch[1].data(), sizeof weights);
        const bool isLast = batch / window == updates - 1;
        for (int i = 0; i < 2; ++i) {
          taken[samples[i]] += weights[i] > 0;
          last += isLast ? weights[i] : 0;
          if (!isLast) {
            EXPECT_EQ(weights[i], 1);
          }
        }
      }
    }
    EXPECT_EQ(taken.size(), 23u);
    for (const auto &[sample, times] : taken)
      EXPECT_EQ(times, 1) << sample;
    EXPECT_NEAR(last, static_cast<double>(all), 1e-4); // the mean's are 1
  }
}

TEST(Cursors, ARestOfAnEpochIsFilledUp) {
  const Sampling sampling{.batch = 5, .pads = true, .since = 4, .from = {2, 8}};
  EXPECT_EQ(sampling.cursorAfter(4, 12).epoch, 2);
  EXPECT_EQ(sampling.cursorAfter(5, 12).epoch, 3);
  EXPECT_EQ(sampling.cursorAfter(5, 12).sample, 0);
  EXPECT_EQ(sampling.cursorAfter(8, 12).epoch, 4);
}

TEST_F(Loading, StopsEarly) {
  auto data = opened({{"x", DType::I64, {1, 1}}}, 1);
  Loader loader(std::span(&*data, 1), {}, 0, 1'000'000);
  const auto first = loader.next();
  EXPECT_TRUE(first.ok() && *first);
}

} // namespace
