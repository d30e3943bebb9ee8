# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 on arrays, written from the paper (Salmon et al., SC 2011), as a reference for dlc's."""

import numpy as np

M = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)


def philox(key, low, high):
    """The four words for a 64-bit key and counters of two 64-bit halves (arrays broadcast)."""
    low, high = np.broadcast_arrays(np.uint64(low), np.uint64(high))
    c = [low & LOW, low >> np.uint64(32), high & LOW, high >> np.uint64(32)]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        a, b = M[0] * c[0], M[1] * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & LOW, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & LOW]
        k = [(k[i] + np.uint64(W[i])) & LOW for i in range(2)]
    return [word.astype(np.uint32) for word in c]
