// SPDX-License-Identifier: Apache-2.0
// conv, conv_backward_data, conv_backward_filter: by Winograd.cpp if the plan
// says so, else by oneDNN, in the layout of its fastest code.
//
// Layouts, measured with oneDNN 3.2 on a Zen 4, 2 threads, us with all reorders
// (f32):
//                           nchw as is   nchw, library's choice   nhwc as is
//   1->6 5x5@28 fwd             745             293                  175
//   6->16 5x5@14 fwd            449             142                  163
//   6->16 5x5@14 bwd data       546             369                  512
//   16->16 3x3@28 fwd          3191            1039                 1020
//   64->64 3x3@56 fwd         12460            7945                 7843
// So nhwc is used directly; nchw is reordered to the library's choice, or to
// nhwc where the choice would be im2col + GEMM. The data gradient differs with
// few input channels: up to 4, nchw is best without reordering (7x7 3->64: 13
// ms against 45), and below a block of 16 the library's choice is better than
// nhwc. Images of one and three dimensions follow the same rules.
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/device/cpu/ReferenceConv.h"
#include "runtime/device/cpu/narrow/NarrowConv.h"
#include "runtime/device/cpu/tiles/TileFilter.h"
#include "runtime/device/cpu/winograd/Winograd.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Tags = std::vector<Tag>;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardFilter = dnnl::convolution_backward_weights;

constexpr int64_t kFewChannels = 4;
constexpr int64_t kChannelBlock = 16;

// For one to three dimensions.
constexpr Tag kFirst[] = {Tag::ncw, Tag::nchw, Tag::ncdhw},
              kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc},
              kWeights[] = {Tag::oiw, Tag::oihw, Tag::oidhw},
              kWeightsLast[] = {Tag::owi, Tag::ohwi, Tag::odhwi},
              kGroups[] = {Tag::goiw, Tag::goihw, Tag::goidhw},
              kGroupsLast[] = {Tag::gowi, Tag::gohwi, Tag::godhwi};

Tag first(const Image &image) { return kFirst[image.dims - 1]; }
Tag last(const Image &image) { return kLast[image.dims - 1]; }

memory::dims behind(memory::dims front, const Shape &sizes) {
  front.insert(front.end(), sizes.begin(), sizes.end());
  return front;
}

memory::desc imageDesc(const Image &image, plan::DType type, Tag tag) {
  return {behind({image.n, image.c}, image.sizes()), onednnType(type), tag};
}

// The layout of an image in the plan. With one channel both layouts are the
// same memory, and it is described as the primitive expects.
memory::desc plainDesc(const Image &image, plan::DType type,
                       const memory::desc &wanted) {
  const auto channelsFirst = imageDesc(image, type, first(image)),
             channelsLast = imageDesc(image, type, last(image));
  const bool either = image.c == 1 || image.pixels() == 1;
  if (either && (wanted == channelsFirst || wanted == channelsLast))
    return wanted;
  return image.channelsLast ? channelsLast : channelsFirst;
}

memory::desc weightDesc(const Conv &c, plan::DType type, Tag tag) {
  memory::dims dims = behind({c.y.c / c.group, c.inputs()},
                             c.window.list(c.x.dims, &Sliding::kernel));
  if (c.group > 1)
    dims.insert(dims.begin(), c.group);
  return {dims, onednnType(type), tag};
}
memory::desc plainWeightDesc(const Conv &c, plan::DType type) {
  const Tag *const tags = c.filtersLast
                              ? c.group > 1 ? kGroupsLast : kWeightsLast
                          : c.group > 1 ? kGroups
                                        : kWeights;
  return weightDesc(c, type, tags[c.x.dims - 1]);
}

memory::dims strides(const Conv &c) {
  return c.window.list(c.x.dims, &Sliding::stride);
}
memory::dims dilations(const Conv &c) {
  memory::dims between = c.window.list(c.x.dims, &Sliding::dilation);
  for (auto &elements : between)
    --elements;
  return between;
}
memory::dims before(const Conv &c) {
  return c.window.list(c.x.dims, &Sliding::low);
}
memory::dims after(const Conv &c) {
  return c.window.list(c.x.dims, &Sliding::high);
}

struct Types {
  plan::DType x, w, y;
};

Forward::primitive_desc forward(const Conv &c, Types t, Tag tag,
                                const memory::desc &bias = {}) {
  return {onednnEngine(),
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          imageDesc(c.x, t.x, tag),
          weightDesc(c, t.w, Tag::any),
          bias,
          imageDesc(c.y, t.y, tag),
          strides(c),
          dilations(c),
          before(c),
          after(c),
          onednnAttributes()};
}

// A gradient primitive, which needs the forward primitive as a hint, in the
// type of its inputs.
template <class Gradient>
typename Gradient::primitive_desc backward(const Conv &c, Types t,
                                           plan::DType read, Tag tag) {
  return {onednnEngine(),
          dnnl::algorithm::convolution_direct,
          imageDesc(c.x, t.x, tag),
          weightDesc(c, t.w, Tag::any),
          imageDesc(c.y, t.y, tag),
          strides(c),
          dilations(c),
          before(c),
          after(c),
          forward(c, {read, read, read}, tag),
          onednnAttributes()};
}

// The first of `tags` whose implementation is not im2col + GEMM; else the last.
template <class Describe>
auto firstDirect(const Tags &tags, Describe &&describe) {
  auto desc = describe(tags.front());
  for (size_t i = 1;
       i < tags.size() && std::string_view(desc.impl_info_str()).find("gemm") !=
                              std::string_view::npos;
       ++i)
    desc = describe(tags[i]);
  return desc;
}

// For such windows oneDNN 3.2 copies pixels into its scratchpad and writes
// beyond its end if channels (last) do not fill a vector.
bool writesBehindScratch(const Conv &c) {
  const auto kernel = c.window.list(c.x.dims, &Sliding::kernel);
  const auto isOne = [](int64_t size) { return size == 1; };
  return std::ranges::all_of(kernel, isOne) &&
         !std::ranges::all_of(strides(c), isOne) &&
         c.inputs() % kChannelBlock != 0;
}

Tags layouts(const Conv &c) {
  if (writesBehindScratch(c))
    return {Tag::any};
  return c.x.channelsLast ? Tags{last(c.x)} : Tags{Tag::any, last(c.x)};
}

Tags layoutsOfBackwardData(const Conv &c) {
  const int64_t inputs = c.inputs();
  if (writesBehindScratch(c))
    return layouts(c);
  if (c.group == 1 && inputs <= kFewChannels)
    return {c.x.channelsLast ? last(c.x) : first(c.x)};
  if (c.group == 1 && inputs < kChannelBlock)
    return {Tag::any};
  return layouts(c);
}

void buildForward(OnednnCommand &command, const CommandSpec &spec,
                  const Conv &c, bool hasBias) {
  const Operand &x = spec.inputs[0], &w = spec.inputs[1], &y = spec.outputs[0];
  const Types types{typeOf(x), typeOf(w), typeOf(y)};
  const memory::desc bias =
      hasBias
          ? memory::desc({c.y.c}, onednnType(typeOf(spec.inputs[2])), Tag::a)
          : memory::desc();
  const auto desc = firstDirect(
      layouts(c), [&](Tag tag) { return forward(c, types, tag, bias); });
  const memory mx =
      command.input(command.source(plainDesc(c.x, types.x, desc.src_desc()), x),
                    desc.src_desc());
  const memory mw = command.input(
      command.source(plainWeightDesc(c, types.w), w), desc.weights_desc());
  const memory plain =
      command.result(plainDesc(c.y, types.y, desc.dst_desc()), y);
  const memory my = command.target(plain, desc.dst_desc());
  if (hasBias)
    command.add(Forward(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, mx},
                 {DNNL_ARG_WEIGHTS, mw},
                 {DNNL_ARG_BIAS, command.source(bias, spec.inputs[2])},
                 {DNNL_ARG_DST, my}});
  else
    command.add(
        Forward(desc), desc.scratchpad_desc(),
        {{DNNL_ARG_SRC, mx}, {DNNL_ARG_WEIGHTS, mw}, {DNNL_ARG_DST, my}});
  command.reorder(my, plain);
}

void buildBackwardData(OnednnCommand &command, const CommandSpec &spec,
                       const Conv &c) {
  const Operand &dy = spec.inputs[0], &w = spec.inputs[1],
                &dx = spec.outputs[0];
  const Types types{typeOf(dx), typeOf(w), typeOf(dy)};
  const auto desc = firstDirect(layoutsOfBackwardData(c), [&](Tag tag) {
    return backward<BackwardData>(c, types, types.w, tag);
  });
  const auto dyDesc = desc.diff_dst_desc(), dxDesc = desc.diff_src_desc();
  const memory mdy = command.input(
      command.source(plainDesc(c.y, types.y, dyDesc), dy), dyDesc);
  const memory mw = command.input(
      command.source(plainWeightDesc(c, types.w), w), desc.weights_desc());
  const memory plain = command.result(plainDesc(c.x, types.x, dxDesc), dx);
  const memory mdx = command.target(plain, dxDesc);
  command.add(BackwardData(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_DIFF_DST, mdy},
               {DNNL_ARG_WEIGHTS, mw},
               {DNNL_ARG_DIFF_SRC, mdx}});
  command.reorder(mdx, plain);
}

void buildBackwardFilter(OnednnCommand &command, const CommandSpec &spec,
                         const Conv &c) {
  const Operand &x = spec.inputs[0], &dy = spec.inputs[1],
                &dw = spec.outputs[0];
  const Types types{typeOf(x), typeOf(dw), typeOf(dy)};
  const auto desc = firstDirect(layouts(c), [&](Tag tag) {
    return backward<BackwardFilter>(c, types, types.x, tag);
  });
  const auto xDesc = desc.src_desc(), dyDesc = desc.diff_dst_desc();
  const memory mx =
      command.input(command.source(plainDesc(c.x, types.x, xDesc), x), xDesc);
  const memory mdy = command.input(
      command.source(plainDesc(c.y, types.y, dyDesc), dy), dyDesc);
  const memory plain = command.result(plainWeightDesc(c, types.w), dw);
  const memory mdw = command.target(plain, desc.diff_weights_desc());
  command.add(BackwardFilter(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_SRC, mx},
               {DNNL_ARG_DIFF_DST, mdy},
               {DNNL_ARG_DIFF_WEIGHTS, mdw}});
  command.reorder(mdw, plain);
}

Result<std::unique_ptr<Command>> bindConv(CpuDevice &device,
                                          const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, 2 + hasBias, 1));
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(const Conv conv,
             convOf(spec, spec.inputs[0], spec.inputs[1], spec.outputs[0]));
  if (hasBias)
    DLC_TRY(expectShape(spec, spec.inputs[2], {conv.y.c}, "bias"));
  if (wantsReference(spec))
    return referenceConv(spec, conv, hasBias);
  if (plan::findAttribute(spec.command, "winograd"))
    return bindWinograd(device, spec, conv, ConvResult::Images);
  if (areNarrowLoopsFaster(spec, conv, /*isData=*/false))
    return bindNarrow(device, spec, conv, /*isData=*/false);
  return buildOnednn(device, spec, [&](OnednnCommand &command) {
    buildForward(command, spec, conv, hasBias);
  });
}

Result<std::unique_ptr<Command>> bindConvBackwardData(CpuDevice &device,
                                                      const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 1));
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(const Conv conv,
             convOf(spec, spec.outputs[0], spec.inputs[1], spec.inputs[0]));
  if (wantsReference(spec))
    return referenceConvBackwardData(spec, conv);
  if (plan::findAttribute(spec.command, "winograd"))
    return bindWinograd(device, spec, conv, ConvResult::Data);
  if (areNarrowLoopsFaster(spec, conv, /*isData=*/true))
    return bindNarrow(device, spec, conv, /*isData=*/true);
  return buildOnednn(device, spec, [&](OnednnCommand &command) {
    buildBackwardData(command, spec, conv);
  });
}

Result<std::unique_ptr<Command>>
bindConvBackwardFilter(CpuDevice &device, const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 1));
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(const Conv conv,
             convOf(spec, spec.inputs[0], spec.outputs[0], spec.inputs[1]));
  if (wantsReference(spec))
    return referenceConvBackwardFilter(spec, conv);
  if (plan::findAttribute(spec.command, "winograd") ||
      areProductsFaster(spec, conv))
    return bindWinograd(device, spec, conv, ConvResult::Filter);
  if (areTilesFaster(spec, conv))
    return bindTileFilter(device, spec, conv);
  return buildOnednn(device, spec, [&](OnednnCommand &command) {
    buildBackwardFilter(command, spec, conv);
  });
}

constexpr Kind kConvKinds[] = {
    {"conv", bindConv},
    {"conv_backward_data", bindConvBackwardData},
    {"conv_backward_filter", bindConvBackwardFilter}};

} // namespace

std::span<const Kind> convKinds() { return kConvKinds; }

} // namespace dlc
