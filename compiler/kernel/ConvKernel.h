// SPDX-License-Identifier: Apache-2.0
// A convolution with few channels per group as a kernel: a cluster of this
// single op.
//
// Forward, data gradient and filter gradient have the same loop structure, with
// channels innermost. The tile of the image that the taps read is copied into
// an array of the compute type, with its padding, so taps need no conditions:
//   forward  y[q]                += x[q * stride + offset] * w[tap]
//   data     dx[q * stride + r]  += dy[q + offset] * w[tap], for the taps that
//            reach remainder r: the strides of the forward are phases here
//   filter   dw[tap]             += x[q * stride + offset] * dy[q]
// The channels of a group are planes of the copy: plane p of channel c is
// channel c / own * other + p of the image that is read.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/base/numbers/Sliding.h"

#include <array>

namespace dlc {

/// The loop structure of one convolution; equal for equal ops on all machines.
struct ConvKernel {
  enum Kind { Forward, Data, Filter };

  /// A tap that contributes to one remainder, and the offset from q * step at
  /// which it reads.
  struct Tap {
    int64_t number, offset;
  };

  /// One of three spatial dimensions; missing dimensions have size 1.
  struct Axis {
    Sliding window{1};
    int64_t from = 1, to = 1;     // sizes: of the image read, the other
    int64_t step = 1, phases = 1; // strides of reads and of writes
    int64_t tile = 1;             // positions q per tile
    int64_t least = 0, most = 0;  // range of the taps' offsets
    bool spreads = false;         // data gradient: taps are spread over phases
    bool apart = false;           // filter gradient: one item per tap
    int64_t between = 1;          // image distance of adjacent copies

    llvm::SmallVector<Tap, 8> taps(int64_t phase) const;
    /// Number of positions q that write remainder `phase`.
    int64_t positions(int64_t phase) const {
      return phase < to ? (to - phase - 1) / phases + 1 : 0;
    }
    int64_t tiles() const { return (positions(0) - 1) / tile + 1; }
    /// Elements of a tile's copy.
    int64_t copied() const { return (tile - 1) * step + most - least + 1; }
    int64_t parts() const { return apart ? window.kernel : 1; }
  };

  Kind kind = Forward;
  std::array<Axis, 3> axes; // outermost first
  int64_t images = 1;
  int64_t channels = 1, sources = 1; // of the result or dw; of the image read
  int64_t own = 1, other = 1;        // channels per group
  int64_t inputs = 1;                // per filter
  bool filtersLast = false, hasBias = false;
  int64_t block = 1;    // channels per item
  int64_t together = 1; // images per item

  int64_t taps() const;
  int64_t planes() const { return other; }
  int64_t blocks() const { return (channels - 1) / block + 1; }
  /// Elements of the copy of a tile.
  int64_t copied() const;
  int64_t parts() const;
  /// Tiles per image.
  int64_t tiles() const;
  int64_t items() const;
};

/// The convolution or its gradient, if `body` consists of it and a yield and
/// dlc generates its code; else null.
mlir::Operation *convOf(mlir::Region &body);

/// Why dlc has no such loops for `op` (one of the three), as a clause such as
/// "images are channels first"; empty if convKernel() supports it.
std::string whyNoConvKernel(mlir::Operation *op);
ConvKernel convKernel(mlir::Operation *op);

} // namespace dlc
