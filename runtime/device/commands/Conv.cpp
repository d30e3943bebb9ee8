// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Conv.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Conv> convOf(const CommandSpec &spec, const Operand &x, const Operand &w,
                    const Operand &y) {
  DLC_ASSIGN(const Image imageX, imageOf(spec, x, "x"));
  DLC_ASSIGN(const Image imageY, imageOf(spec, y, "y"));
  const Shape weight = shapeOf(w);
  if (imageY.dims != imageX.dims || weight.size() != imageX.dims + 2)
    return incompatible(spec, fmt::format("x, w and y have ranks {}, {} and {}",
                                          imageX.dims + 2, weight.size(),
                                          imageY.dims + 2));
  const bool filtersLast =
      plan::intAttribute(spec.command, "filters_last", 0) != 0;
  const auto kernel = weight.begin() + (filtersLast ? 1 : 2);
  DLC_ASSIGN(const Window window,
             windowOf(spec, Shape(kernel, kernel + ptrdiff_t(imageX.dims))));
  const Conv conv{imageX, imageY, window,
                  plan::intAttribute(spec.command, "group", 1), filtersLast};
  if (conv.group < 1 || imageX.c % conv.group || imageY.c % conv.group)
    return corrupt(spec,
                   fmt::format("{} groups do not divide {} and {} channels",
                               conv.group, imageX.c, imageY.c));
  const Shape channels{weight[0], filtersLast ? weight.back() : weight[1]},
      expected{imageY.c, conv.inputs()};
  if (channels != expected)
    return corrupt(
        spec, fmt::format("w is for {} outputs of {} inputs, expected {} of {}",
                          channels[0], channels[1], expected[0], expected[1]));
  Image wanted = imageX;
  for (size_t d = 0; d < kSpatial; ++d)
    wanted.size[d] =
        std::max<int64_t>(window.along[d].outputs(imageX.size[d]), 0);
  if (imageY.n != imageX.n || imageY.size != wanted.size)
    return corrupt(spec,
                   fmt::format("y holds {} images of {}, expected {} of {}",
                               imageY.n, fmt::join(imageY.sizes(), "x"),
                               imageX.n, fmt::join(wanted.sizes(), "x")));
  return conv;
}

} // namespace dlc
