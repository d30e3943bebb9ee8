// SPDX-License-Identifier: Apache-2.0
// FilterReorder gives the bytes of oneDNN's own reorders, padding included.
#include "runtime/device/cpu/linear/FilterReorder.h"
#include "runtime/device/cpu/Onednn.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace dlc {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;
using Bytes = std::vector<uint8_t>;

Bytes randomBytes(const memory::desc &layout) {
  std::mt19937 random(1);
  Bytes bytes(layout.get_size());
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random() & 0x3f); // no NaN
  return bytes;
}

Bytes reordered(const memory::desc &from, const memory::desc &to,
                Bytes &bytes) {
  Bytes result(to.get_size(), 0xff);
  const memory source(from, onednnEngine(), bytes.data()),
      target(to, onednnEngine(), result.data());
  dnnl::stream stream(onednnEngine());
  dnnl::reorder(source, target)
      .execute(stream, const_cast<memory &>(source),
               const_cast<memory &>(target));
  stream.wait();
  return result;
}

void expectReorders(const memory::desc &from, const memory::desc &to,
                    Bytes bytes) {
  const auto own = FilterReorder::between(from, to);
  ASSERT_TRUE(own);
  Bytes result(to.get_size(), 0xff);
  own->run(bytes.data(), result.data(), Threads(2));
  EXPECT_EQ(result, reordered(from, to, bytes));
}

TEST(FilterReorder, GivesTheBytesOfOnednn) {
  struct {
    Type type;
    Tag tag;
    bool unpacks;
  } const kLayouts[] = {
      {Type::f32, Tag::OIhw16i16o, true},  {Type::f32, Tag::Acdb48a, true},
      {Type::f32, Tag::Acdb64a, true},     {Type::bf16, Tag::OIhw16i16o, true},
      {Type::bf16, Tag::OhwI48o2i, true},  {Type::bf16, Tag::OhwI64o2i, true},
      {Type::bf16, Tag::IhwO48i2o, false}, {Type::bf16, Tag::IhwO64i2o, false}};
  const memory::dims kFilters[] = {
      {64, 64, 1, 1}, {16, 32, 1, 1},  {80, 48, 1, 1}, {128, 112, 1, 1},
      {32, 16, 3, 3}, {112, 32, 3, 3}, {16, 16, 5, 5}, {96, 16, 1, 7}};
  for (const auto &[type, tag, unpacks] : kLayouts)
    for (const memory::dims &dims : kFilters) {
      if (type == Type::bf16 && !onednnHasBf16())
        continue;
      if (!unpacks && dims[2] * dims[3] > 1)
        continue;
      SCOPED_TRACE(testing::Message()
                   << "type " << int(type) << ", layout " << int(tag)
                   << ", filters " << dims[0] << "x" << dims[1] << "x"
                   << dims[2] << "x" << dims[3]);
      const memory::desc plain(dims, type, Tag::oihw), blocked(dims, type, tag);
      Bytes bytes = randomBytes(plain);
      expectReorders(plain, blocked, bytes);
      if (unpacks)
        expectReorders(blocked, plain, reordered(plain, blocked, bytes));
    }
}

TEST(FilterReorder, LeavesOtherLayoutsToOnednn) {
  const auto own = [](const memory::dims &dims, Type type, Tag from, Tag to) {
    return FilterReorder::between({dims, type, from}, {dims, type, to})
        .has_value();
  };
  EXPECT_TRUE(own({64, 64, 3, 3}, Type::f32, Tag::oihw, Tag::OIhw16i16o));
  EXPECT_FALSE(own({64, 64, 3, 3}, Type::f32, Tag::ohwi, Tag::OIhw16i16o));
  EXPECT_FALSE(own({64, 64, 3, 3}, Type::f32, Tag::oihw, Tag::OIhw16o16i));
  EXPECT_FALSE(own({64, 60, 3, 3}, Type::f32, Tag::oihw, Tag::OIhw16i16o));
  EXPECT_FALSE(own({60, 64, 3, 3}, Type::f32, Tag::oihw, Tag::OIhw16i16o));
  EXPECT_FALSE(own({64, 64, 7, 7}, Type::f32, Tag::oihw, Tag::OIhw16i16o));
  EXPECT_FALSE(own({64, 64, 1, 1}, Type::s8, Tag::oihw, Tag::OIhw16i16o));
  EXPECT_FALSE(own({64, 64, 3, 3}, Type::bf16, Tag::oihw, Tag::IhwO64i2o));
}

} // namespace
} // namespace dlc
