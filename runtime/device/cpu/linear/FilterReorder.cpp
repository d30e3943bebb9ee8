// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/linear/FilterReorder.h"

namespace dlc {

using dnnl::memory;

namespace {

constexpr int64_t kGrain = 8 << 10; // elements worth a thread

// Offsets of the indices of one dimension of a layout, padding included.
std::vector<int64_t> offsetsOf(const memory::desc &layout, int dimension) {
  const auto sizes = layout.get_inner_blks(), of = layout.get_inner_idxs();
  std::vector<int64_t> result;
  for (int64_t index = 0; index < layout.get_padded_dims()[size_t(dimension)];
       ++index) {
    int64_t offset = 0, rest = index, stride = 1;
    for (size_t block = sizes.size(); block-- > 0; stride *= sizes[block])
      if (of[block] == dimension) {
        offset += rest % sizes[block] * stride;
        rest /= sizes[block];
      }
    result.push_back(offset + rest * layout.get_strides()[size_t(dimension)]);
  }
  return result;
}

// Offsets of all taps, the last dimension fastest.
std::vector<int64_t> tapOffsetsOf(const memory::desc &layout) {
  std::vector<int64_t> result = {0};
  for (int d = 2; d < layout.get_ndims(); ++d) {
    std::vector<int64_t> next;
    for (int64_t before : result)
      for (int64_t offset : offsetsOf(layout, d))
        next.push_back(before + offset);
    result = std::move(next);
  }
  return result;
}

int64_t tapsOf(const memory::desc &layout) {
  int64_t taps = 1;
  for (int d = 2; d < layout.get_ndims(); ++d)
    taps *= layout.get_dims()[size_t(d)];
  return taps;
}

bool isPlain(const memory::desc &layout) {
  int64_t elements = 1;
  for (int d = layout.get_ndims(); d-- > 0;
       elements *= layout.get_dims()[size_t(d)])
    if (layout.get_strides()[size_t(d)] != elements)
      return false;
  return layout.get_inner_nblks() == 0;
}

// Whether each group of `count` offsets is `step` apart.
bool areAdjacent(const std::vector<int64_t> &offsets, size_t count,
                 int64_t step) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (i % count && offsets[i] != offsets[i - 1] + step)
      return false;
  return true;
}

} // namespace

FilterReorder::FilterReorder(const memory::desc &plain,
                             const memory::desc &other, bool packs)
    : outputs_(plain.get_dims()[0]), inputs_(plain.get_dims()[1]),
      taps_(tapsOf(plain)), packs_(packs),
      areHalves_(plain.get_data_type() == memory::data_type::bf16),
      ofOutput_(offsetsOf(other, 0)), ofInput_(offsetsOf(other, 1)),
      ofTap_(tapOffsetsOf(other)), copy_(loop()) {}

FilterLoops::Copy *FilterReorder::loop() const {
  const FilterLoops &loops = filterCopies();
  const auto lanes = size_t(loops.lanes);
  for (const size_t count :
       {size_t(outputs_), size_t(inputs_), ofOutput_.size(), ofInput_.size()})
    if (count % lanes)
      return nullptr;
  if (int64_t(ofTap_.size()) != taps_)
    return nullptr;
  if (areAdjacent(ofOutput_, lanes, 1))
    return areHalves_ ? packs_ ? loops.packHalves : loops.unpackHalves
           : packs_   ? loops.pack
                      : loops.unpack;
  if (!areHalves_)
    return nullptr;
  if (areAdjacent(ofOutput_, lanes, 2) && areAdjacent(ofInput_, 2, 1))
    return packs_ ? loops.packPairs : loops.unpackPairs;
  return packs_ && taps_ == 1 && areAdjacent(ofInput_, lanes, 2) &&
                 areAdjacent(ofOutput_, 2, 1)
             ? loops.packInputs
             : nullptr;
}

std::optional<FilterReorder> FilterReorder::between(const memory::desc &from,
                                                    const memory::desc &to) {
  using Type = memory::data_type;
  const bool packs = isPlain(from);
  const memory::desc &plain = packs ? from : to, &other = packs ? to : from;
  const Type type = from.get_data_type();
  if (from.get_ndims() < 3 || from.get_dims() != to.get_dims() ||
      type != to.get_data_type() || (type != Type::f32 && type != Type::bf16) ||
      !isPlain(plain) || tapsOf(plain) > kMostFilterTaps || // as of images
      other.get_format_kind() != memory::format_kind::blocked)
    return {};
  FilterReorder result(plain, other, packs);
  return result.copy_ ? std::optional(std::move(result)) : std::nullopt;
}

void FilterReorder::run(void *from, void *to, const Threads &threads) const {
  const FilterOffsets offsets = {outputs_,        inputs_,
                                 taps_,           ofOutput_.data(),
                                 ofInput_.data(), ofTap_.data()};
  const int64_t lanes = filterCopies().lanes,
                down = int64_t(ofOutput_.size()) / lanes,
                across = int64_t(ofInput_.size()) / lanes,
                grain = kGrain / (lanes * lanes * taps_) + 1;
  void *const plain = packs_ ? from : to, *const other = packs_ ? to : from;
  threads.parallelFor(down * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at)
      copy_(offsets, plain, other, at / across * lanes, at % across * lanes);
  });
}

} // namespace dlc
