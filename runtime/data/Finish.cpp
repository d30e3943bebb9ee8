// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Finish.h"

#include <algorithm>
#include <cmath>

namespace dlc {

Finish::Finish(const SampleOptions &options,
               const std::vector<int64_t> &sample) {
  const auto channels = static_cast<int64_t>(options.mean.size());
  const auto counts = [&](const auto &at) { return at == channels; };
  const bool isOne = options.mean.size() == 1 && options.std.size() == 1;
  planar_ = sample.size() == 3 && counts(sample.front());
  if (isOne || planar_ || (!sample.empty() && counts(sample.back()))) {
    mean_.assign(options.mean.begin(), options.mean.end());
    std_.assign(options.std.begin(), options.std.end());
  }
  if (auto layout = layoutOf(sample); options.randomErase > 0 && layout) {
    erase_ = options.randomErase;
    layout_ = *layout;
  }
}

void Finish::normalize(std::span<float> values) const {
  const size_t count = mean_.size();
  const size_t plane = planar_ ? values.size() / count : 1;
  for (size_t at = 0, c = 0; at < values.size(); at += plane, ++c)
    for (size_t i = at; i < at + plane; ++i)
      values[i] = (values[i] - mean_[c % count]) / std_[c % count];
}

void Finish::apply(std::span<float> values, int64_t row,
                   const TrainingPass *pass) const {
  if (normalizes())
    normalize(values);
  if (!pass || !erases())
    return;
  SampleDraws draws(pass->seed, pass->epoch, row, uint32_t(DrawStream::Erase));
  if (draws.uniform(0, 1) >= erase_)
    return;
  const PictureSize size = layout_.size;
  const PictureBox box = drawErased(size, draws);
  layout_.eachRow(box, [&](ptrdiff_t at, int count) {
    std::fill_n(values.begin() + at, count, 0.0F);
  });
}

PictureBox drawErased(PictureSize size, SampleDraws &draws) {
  const double area = double(size.height) * size.width;
  for (int tries = 0; tries < 10; ++tries) {
    const double erased = area * draws.uniform(0.02, 0.33);
    const double aspect = std::exp(draws.uniform(std::log(0.3), std::log(3.3)));
    const int height = int(std::nearbyint(std::sqrt(erased * aspect)));
    const int width = int(std::nearbyint(std::sqrt(erased / aspect)));
    if (height >= size.height || width >= size.width)
      continue;
    const int top = draws.below(size.height - height + 1);
    return {top, draws.below(size.width - width + 1), height, width};
  }
  return {};
}

} // namespace dlc
