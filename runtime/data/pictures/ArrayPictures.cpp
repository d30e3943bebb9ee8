// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/ArrayPictures.h"

#include "runtime/data/pictures/ArrayLayout.h"

namespace dlc {
namespace {

class AugmentedRows final : public RowReader {
public:
  AugmentedRows(std::shared_ptr<const RowReader> rows,
                const PixelLayout &layout, const Augmentation &how)
      : rows_(std::move(rows)), layout_(layout), how_(how) {}

  Status read(int64_t row, const TrainingPass *pass,
              std::byte *to) const override {
    DLC_TRY(rows_->read(row, pass, to));
    Picture image = imageOf(to, layout_);
    if (pass && how_.crop == CropKind::Random) {
      SampleDraws draws(pass->seed, pass->epoch, row,
                        uint32_t(DrawStream::Crop));
      const PictureBox box =
          drawCrop(layout_.size, how_.cropScale, how_.cropRatio, draws);
      image = resizedCrop(image, box, image.height, image.width, how_.filter);
    } else {
      image = fitted(image, layout_.size, how_);
    }
    if (pass)
      augment(image, how_, pass->seed, pass->epoch, row);
    layOut(image, layout_, to);
    return {};
  }

private:
  std::shared_ptr<const RowReader> rows_;
  PixelLayout layout_;
  Augmentation how_;
};

class AugmentedArray final : public SourceOver {
public:
  AugmentedArray(std::shared_ptr<const Source> source, std::string key,
                 const PixelLayout &layout, const Augmentation &how)
      : SourceOver(std::move(source)), key_(std::move(key)), layout_(layout),
        how_(how) {}

  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(auto rows, source_->rows(key));
    if (key != key_)
      return rows;
    return std::make_shared<const AugmentedRows>(std::move(rows), layout_,
                                                 how_);
  }
  bool isSlow() const override { return true; }

private:
  std::string key_;
  PixelLayout layout_;
  Augmentation how_;
};

} // namespace

Result<std::shared_ptr<const Source>>
augmentedArray(std::shared_ptr<const Source> source, std::string key,
               const SampleOptions &options) {
  DLC_ASSIGN(const Array head, source->head(key));
  const auto layout = layoutOf(sampleShape(head.shape));
  if (!layout || head.dtype != DType::U8)
    return usageError("'{}': '{}' is {}, which cannot be augmented: expected "
                      "pictures, u8 in 3 or 1 channels, as [N, 3, H, W]",
                      source->name(), key, describe(head.dtype, head.shape));
  return std::make_shared<const AugmentedArray>(
      std::move(source), std::move(key), *layout, options.augmentation);
}

} // namespace dlc
