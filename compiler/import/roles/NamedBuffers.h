// SPDX-License-Identifier: Apache-2.0
// Names that models give to buffers, and further evidence that tells them from
// parameters of the same name.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

enum class BufferSign {
  None,   // the name is not a buffer's
  Name,   // the name alone is a buffer's
  Use,    // also the use, which a parameter may share
  Values, // also the values
};

/// Classifies the float tensor `value`, which the source may call `name`.
/// Names: running_mean, mean, pixel_std; attn_mask; pe, inv_freq, cos_cached,
/// freqs; relative_coords_table, anchors, position_ids; embed_scale. Values:
/// masks of two values, values of a formula, square roots of a width. Use:
/// statistics that normalise an input of the model before any layer (subtracted
/// mean, or divisor), statistics of a decomposed norm, frequencies whose sines
/// and cosines are computed, data operands of layers. Linear in the elements;
/// visits a bounded number of nodes.
BufferSign bufferSignOf(const std::string &value, const std::string &name,
                        const OnnxFile &file, const ValueFlow &flow);

/// Scale or shift that is combined with running statistics before any data, as
/// in torchvision's FrozenBatchNorm2d, and hence a buffer.
bool isOfFrozenNorm(const std::string &name, const OnnxFile &file,
                    const ValueFlow &flow);

} // namespace dlc::import
