// SPDX-License-Identifier: Apache-2.0
// Only the owner of Precompiled.h.
