#include "runtime/device/commands/Window.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Image> imageOf(const CommandSpec &spec, const Operand &operand,
                      std::string_view name) {
  const Shape shape = shapeOf(operand);
  const std::string layout =
      plan::stringAttribute(spec.command, "layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return incompatible(
        spec, fmt::format("layout is '{}', expected nchw or nhwc", layout));
  if (shape.size() != 4)
    return incompatible(
        spec, fmt::format("{} has rank {}, expected 4", name, shape.size()));
  if (layout == "nhwc")
    return Image{shape[0], shape[3], shape[1], shape[2], true};
  return Image{shape[0], shape[1], shape[2], shape[3], false};
}

Result<Window> windowOf(const CommandSpec &spec, int64_t kh, int64_t kw) {
  const auto strides = plan::intsAttribute(spec.command, "strides", {1, 1});
  const auto pads = plan::intsAttribute(spec.command, "pads", {0, 0, 0, 0});
  const auto dilations = plan::intsAttribute(spec.command, "dilations", {1, 1});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    return corrupt(
        spec,
        fmt::format("{} strides, {} dilations and {} pads, expected 2, 2 and 4",
                    strides.size(), dilations.size(), pads.size()));
  const Window window{kh,           kw,           strides[0], strides[1],
                      dilations[0], dilations[1], pads[0],    pads[1],
                      pads[2],      pads[3]};
  const auto inRange = [](int64_t value, int64_t least) {
    return value >= least && value <= INT32_MAX;
  };
  if (!inRange(kh, 1) || !inRange(kw, 1))
    return corrupt(
        spec, fmt::format("kernel is {}x{}, expected at least 1x1", kh, kw));
  for (int64_t value : {strides[0], strides[1], dilations[0], dilations[1]})
    if (!inRange(value, 1))
      return corrupt(
          spec,
          fmt::format("stride or dilation is {}, expected at least 1", value));
  for (int64_t pad : pads)
    if (!inRange(pad, 0))
      return corrupt(spec, fmt::format("pad is {}, expected at least 0", pad));
  return window;
}

} // namespace dlc
