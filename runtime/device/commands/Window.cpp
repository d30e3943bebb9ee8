// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Window.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Image> imageOf(const CommandSpec &spec, const Operand &operand,
                      std::string_view name) {
  const Shape shape = shapeOf(operand);
  const std::string layout =
      plan::stringAttribute(spec.command, "layout", "nchw");
  if (!ImageDims::knows(layout))
    return incompatible(
        spec, fmt::format("layout is '{}', expected nchw or nhwc", layout));
  const ImageDims dims(static_cast<int64_t>(shape.size()), layout);
  if (!ImageDims::areImages(dims.rank))
    return incompatible(
        spec, fmt::format("{} has rank {}, expected 3 to 5", name, dims.rank));
  const auto count = static_cast<size_t>(dims.count());
  Image image{shape[0],
              shape[static_cast<size_t>(dims.channel())],
              {1, 1, 1},
              count,
              dims.channelsLast};
  std::copy_n(shape.begin() + dims.spatial(), count, image.size.end() - count);
  return image;
}

static Status expectSizes(const CommandSpec &spec, const Shape &sizes,
                          int64_t least, std::string_view name) {
  for (const int64_t value : sizes)
    if (value < least || value > INT32_MAX)
      return corrupt(spec, fmt::format("{} is {}, expected at least {}", name,
                                       value, least));
  return {};
}

Result<Window> windowOf(const CommandSpec &spec, const Shape &kernel) {
  const size_t dims = kernel.size();
  const Shape ones(dims, 1), zeros(2 * dims, 0);
  const auto strides = plan::intsAttribute(spec.command, "strides", ones);
  const auto pads = plan::intsAttribute(spec.command, "pads", zeros);
  const auto dilations = plan::intsAttribute(spec.command, "dilations", ones);
  if (dims < 1 || dims > kSpatial || strides.size() != dims ||
      dilations.size() != dims || pads.size() != 2 * dims)
    return corrupt(
        spec,
        fmt::format(
            "{} strides, {} dilations and {} pads for a kernel of {} sizes",
            strides.size(), dilations.size(), pads.size(), dims));
  DLC_TRY(expectSizes(spec, kernel, 1, "a size of the kernel"));
  DLC_TRY(expectSizes(spec, strides, 1, "a stride"));
  DLC_TRY(expectSizes(spec, dilations, 1, "a dilation"));
  DLC_TRY(expectSizes(spec, pads, 0, "a pad"));
  int64_t taps = 1;
  for (const int64_t size : kernel)
    if ((taps *= size) > INT32_MAX)
      return corrupt(spec, "the kernel has more than 2^31 positions");
  const WindowSizes sizes{kernel, strides, pads, dilations};
  Window window;
  for (size_t d = 0; d < dims; ++d)
    window.along[kSpatial - dims + d] = sizes.along(d);
  return window;
}

} // namespace dlc
