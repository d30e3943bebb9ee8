// SPDX-License-Identifier: Apache-2.0
// A convolution of few channels a group as a kernel: a cluster that holds the
// op alone.
//
// Forward, gradient of the data and of the filter are one kind of loops, with
// channels innermost. A tile of the image that the taps read is copied into an
// array of the compute type, padding and all, so that no tap needs a condition:
//   forward  y[q]                += x[q * stride + offset] * w[tap]
//   data     dx[q * stride + r]  += dy[q + offset] * w[tap], for the taps that
//            reach remainder r: the strides of the forward are phases here
//   filter   dw[tap]             += x[q * stride + offset] * dy[q]
// A group's channels are planes of the copy: plane p of channel c is channel
// c / own * other + p of the image that is read.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "runtime/base/numbers/Sliding.h"

#include <array>

namespace dlc {

/// How one runs; equal for equal ops, on every machine.
struct ConvKernel {
  enum Kind { Forward, Data, Filter };

  /// A tap that counts at one remainder, and where it reads next to q * step.
  struct Tap {
    int64_t number, offset;
  };

  /// Along one of three dimensions; what the op has fewer of has one element.
  struct Axis {
    Sliding window{1};
    int64_t from = 1, to = 1;     // sizes: of what taps read, of the other
    int64_t step = 1, phases = 1; // of reads; of writes
    int64_t tile = 1;             // positions q of a tile
    int64_t least = 0, most = 0;  // offsets
    bool spreads = false;         // a tap writes ahead: gradient of the data
    bool apart = false;           // filter: a tap of it is an item of its own
    int64_t between = 1;          // of the image from one copied to the next

    llvm::SmallVector<Tap, 8> taps(int64_t phase) const;
    /// Positions that write remainder `phase`.
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
  int64_t channels = 1, sources = 1; // of the result or dw; of what taps read
  int64_t own = 1, other = 1;        // a group's
  int64_t inputs = 1;                // of a filter
  bool filtersLast = false, hasBias = false;
  int64_t block = 1;    // channels of an item
  int64_t together = 1; // images of an item

  int64_t taps() const;
  int64_t planes() const { return other; }
  int64_t blocks() const { return (channels - 1) / block + 1; }
  /// Elements of the copy of a tile.
  int64_t copied() const;
  int64_t parts() const;
  /// Tiles of an image.
  int64_t tiles() const;
  int64_t items() const;
};

/// The convolution, or its gradient, to be generated that is all of `body` but
/// for what it yields; null if there is none.
mlir::Operation *convOf(mlir::Region &body);

/// Why no such loops are made for `op`, one of the three, after which "images
/// are channels first" reads well; empty: they are, as convKernel() says.
std::string whyNoConvKernel(mlir::Operation *op);
ConvKernel convKernel(mlir::Operation *op);

} // namespace dlc
