// SPDX-License-Identifier: Apache-2.0
// Convolutions with few channels in the result by the CPU's own loops, against
// the plain loops in f64, and to the bit for any number of threads.
#include "Fixture.h"

namespace dlc::test {
namespace {

struct NarrowCase {
  std::string name;
  int64_t images, few, many, height, width, rows, columns; // of the window
  Shape pads = {0, 0, 0, 0};
  bool filtersLast = false;
};

// Windows of one vector to more than are summed at once; rows of some blocks,
// of one, and shorter than a window; images copied in parts; rows of the result
// that no window reaches.
const std::vector<NarrowCase> kNarrowShapes = {
    {"lenet", 3, 6, 16, 14, 14, 5, 5},
    {"oneChannel", 2, 1, 9, 8, 11, 3, 3, {1, 1, 1, 1}},
    {"wide", 2, 3, 5, 6, 61, 3, 3, {1, 1, 1, 1}},
    {"filtersLast", 2, 3, 7, 9, 40, 2, 5, {1, 2, 0, 1}, true},
    {"oneRow", 2, 2, 4, 1, 17, 1, 7, {0, 3, 0, 3}},
    {"short", 1, 4, 3, 4, 2, 3, 4, {2, 3, 2, 3}},
    {"manyVectors", 1, 15, 3, 5, 30, 3, 9, {1, 4, 1, 4}},
    {"inParts", 1, 3, 96, 20, 70, 3, 3, {1, 1, 1, 1}},
    {"asymmetric", 2, 5, 6, 7, 9, 3, 3, {2, 0, 0, 2}},
};

std::vector<Case> casesOf(const NarrowCase &s) {
  const auto image = [&](int64_t channels, bool isResult) {
    return Shape{
        s.images, s.height + isResult * (s.pads[0] + s.pads[2] - s.rows + 1),
        s.width + isResult * (s.pads[1] + s.pads[3] - s.columns + 1), channels};
  };
  const auto filter = [&](int64_t outputs, int64_t inputs) {
    return s.filtersLast ? Shape{outputs, s.rows, s.columns, inputs}
                         : Shape{outputs, inputs, s.rows, s.columns};
  };
  const Attributes attributes = {{"filters_last", int64_t(s.filtersLast)},
                                 {"layout", std::string("nhwc")},
                                 {"pads", s.pads}};
  Attributes withBias = attributes;
  withBias["has_bias"] = int64_t(1);
  const Case data = {"conv_backward_data",
                     attributes,
                     {{image(s.many, true)}, {filter(s.many, s.few)}},
                     {{image(s.few, false)}}},
             forward = {"conv",
                        attributes,
                        {{image(s.many, false)}, {filter(s.few, s.many)}},
                        {{image(s.few, true)}}};
  Case biased = forward;
  biased.attributes = withBias;
  biased.inputs.push_back({{s.few}});
  return {data, forward, biased};
}

class NarrowTest : public testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowTest, IsNearForAnyThreads) {
  for (const Case &c : casesOf(GetParam()))
    for (const auto &[type, most] :
         {std::pair(plan::F32, 5e-7), std::pair(plan::BF16, 4e-3),
          std::pair(plan::F16, 6e-4)}) {
      EXPECT_LE(relativeError(run(c, type, 2)[0], run(c, plan::F64, 1)[0]),
                most)
          << c.kind;
      expectThreadInvariant(c, type);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NarrowTest, testing::ValuesIn(kNarrowShapes),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace dlc::test
