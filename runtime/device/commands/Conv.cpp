#include "runtime/device/commands/Conv.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Conv> convOf(const CommandSpec &spec, const Operand &x, const Operand &w,
                    const Operand &y) {
  DLC_ASSIGN(const Image imageX, imageOf(spec, x, "x"));
  DLC_ASSIGN(const Image imageY, imageOf(spec, y, "y"));
  const Shape weight = shapeOf(w);
  if (weight.size() != 4)
    return incompatible(
        spec, fmt::format("w has rank {}, expected 4", weight.size()));
  DLC_ASSIGN(const Window window, windowOf(spec, weight[2], weight[3]));
  const Conv conv{imageX, imageY, window,
                  plan::intAttribute(spec.command, "group", 1)};
  if (conv.group < 1 || imageX.c % conv.group || imageY.c % conv.group)
    return corrupt(spec,
                   fmt::format("{} groups do not divide {} and {} channels",
                               conv.group, imageX.c, imageY.c));
  const Shape channels{weight[0], weight[1]},
      expected{imageY.c, imageX.c / conv.group};
  if (channels != expected)
    return corrupt(
        spec, fmt::format("w is for {} outputs of {} inputs, expected {} of {}",
                          weight[0], weight[1], expected[0], expected[1]));
  const int64_t h = std::max<int64_t>(window.rows().outputs(imageX.h), 0),
                width =
                    std::max<int64_t>(window.columns().outputs(imageX.w), 0);
  if (imageY.n != imageX.n || imageY.h != h || imageY.w != width)
    return corrupt(
        spec, fmt::format("y holds {} images of {}x{}, expected {} of {}x{}",
                          imageY.n, imageY.h, imageY.w, imageX.n, h, width));
  return conv;
}

} // namespace dlc
