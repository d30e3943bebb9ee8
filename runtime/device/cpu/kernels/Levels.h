// SPDX-License-Identifier: Apache-2.0
// Includes the loops of file DLC_BODY, which use Lanes.h, once for each level
// of x86-64, in the namespaces that DLC_OF_LEVEL chooses from. Included once by
// a source file, within a namespace; the body includes nothing else.

#ifdef __x86_64__
namespace v4 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
constexpr int kLanes = 16, kBlockRows = 12;
#include DLC_BODY
#pragma GCC pop_options
} // namespace v4
namespace v3 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
constexpr int kLanes = 8, kBlockRows = 6;
#include DLC_BODY
#pragma GCC pop_options
} // namespace v3
#endif
namespace baseline {
constexpr int kLanes = 8, kBlockRows = 6;
#include DLC_BODY
} // namespace baseline
