// SPDX-License-Identifier: Apache-2.0
// Names that models give their buffers, and what else tells buffers from
// parameters that are called so.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

enum class BufferSign {
  None,   // it has another name
  Name,   // nothing but its name
  Use,    // its use, too, though a parameter's may be like it
  Values, // its values, too
};

/// Of the float tensor `value`, which the source may have called `name`:
/// running_mean, mean, pixel_std; attn_mask; pe, inv_freq, cos_cached, freqs;
/// relative_coords_table, anchors, position_ids; embed_scale. Values tell a
/// mask of two values, a formula's numbers and the root of a width. Use tells
/// statistics that normalise an input of the model before any layer (its mean
/// subtracted, or divided by what is made of it), those of a norm that is
/// written as several nodes, frequencies whose sines and cosines are taken, and
/// what a layer reads as its data. Linear in the elements; it looks at a
/// bounded number of nodes.
BufferSign bufferSignOf(const std::string &value, const std::string &name,
                        const OnnxFile &file, const ValueFlow &flow);

/// Scale or shift beside running statistics, with which it is computed before
/// any data, as in torchvision's FrozenBatchNorm2d: buffers, too.
bool isOfFrozenNorm(const std::string &name, const OnnxFile &file,
                    const ValueFlow &flow);

} // namespace dlc::import
