// SPDX-License-Identifier: Apache-2.0
// What feeds tensor cores and what they compute: cp.async and mma.sync.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlc::test {

/// A copy of the running thread, which lands when it waits for it. `zeros`
/// bytes follow behind.
struct Copy {
  void *to;
  const void *from;
  size_t bytes, zeros;
};
void copyLater(const Copy &copy);
/// Ends a group of copies.
void commitCopies();
/// Lands all but the last so many groups.
void landAllBut(size_t groups);

/// A warp's product of 16 x 16 and 16 x 8 halves, of which each thread has
/// four registers, two, and four sums: d = a b + c. All threads call it.
void multiplyFragments(const uint32_t *a, const uint32_t *b, const float *c,
                       float *d, bool isBf16);

/// Four matrices of 8 x 8 halves; thread i of the warp has the address of line
/// i % 8 of matrix i / 8, a multiple of 16. Each thread gets two halves of each
/// matrix in `d`. All threads call it.
void loadMatrices(const uint16_t *line, uint32_t *d, bool transposed);

/// Forgets the copies that no thread of the last block has waited for.
void dropCopies();

} // namespace dlc::test
