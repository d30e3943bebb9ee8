// SPDX-License-Identifier: Apache-2.0
// Single opcodes against numbers that follow from the PTX ISA's definitions,
// computed by hand.
#include "Written.h"

namespace dlc::ptx {
namespace {

struct Computed {
  std::string statements; // from constants to %r2
  uint32_t bits;
};

class Opcodes : public testing::TestWithParam<Computed> {};

TEST_P(Opcodes, Compute) {
  EXPECT_EQ(results(GetParam().statements)[0], GetParam().bits)
      << GetParam().statements;
}

/// `type`: of a register that is only half of %r2.
std::string half(const std::string &statement) {
  return statement + " cvt.u32.u16 %r2, %rs1;";
}
std::string predicate(const std::string &statement) {
  return statement + " selp.b32 %r2, 1, 0, %p1;";
}
/// The upper or lower half of %rd4.
std::string upper(const std::string &statement) {
  return statement + " mov.b64 {_, %r2}, %rd4;";
}
std::string lower(const std::string &statement) {
  return statement + " mov.b64 {%r2, _}, %rd4;";
}

INSTANTIATE_TEST_SUITE_P(
    Integers, Opcodes,
    testing::Values(
        Computed{"sub.s32 %r2, 3, 5;", uint32_t(-2)},
        Computed{"mad.lo.s32 %r2, -3, 5, 1;", uint32_t(-14)},
        Computed{"mul.hi.u32 %r2, 4294967295, 4294967295;", 0xfffffffe},
        Computed{"mul.hi.s32 %r2, -1, 1;", 0xffffffff},
        Computed{upper("mul.wide.s32 %rd4, -2, 3;"), 0xffffffff},
        Computed{upper("mul.wide.u32 %rd4, 4294967295, 2;"), 1},
        Computed{half("mul.hi.u16 %rs1, 65535, 65535;"), 0xfffe},
        Computed{half("sub.s16 %rs1, 1, 2;"), 0xffff},
        Computed{"div.s32 %r2, -7, 2;", uint32_t(-3)},
        Computed{"rem.s32 %r2, -7, 2;", uint32_t(-1)},
        Computed{"div.u32 %r2, -7, 2;", 0x7ffffffc},
        Computed{"min.s32 %r2, -1, 1;", 0xffffffff},
        Computed{"min.u32 %r2, -1, 1;", 1}, Computed{"shl.b32 %r2, 1, 32;", 0},
        Computed{"shl.b32 %r2, 3, 31;", 0x80000000},
        Computed{"shr.u32 %r2, -1, 40;", 0},
        Computed{"shr.s32 %r2, -8, 40;", 0xffffffff},
        Computed{"shr.s32 %r2, -8, 1;", uint32_t(-4)},
        Computed{half("shr.u16 %rs1, 0x8000, 15;"), 1},
        Computed{"bfe.u32 %r2, 0xABCD1234, 8, 8;", 0x12},
        Computed{"bfe.s32 %r2, 0xF0, 4, 4;", 0xffffffff},
        Computed{"bfe.s32 %r2, 0x80000000, 28, 20;", 0xfffffff8},
        Computed{"bfe.u32 %r2, 5, 0, 0;", 0},
        Computed{"bfi.b32 %r2, 0xFF, 0, 4, 4;", 0xf0},
        Computed{"prmt.b32 %r2, 0x33221100, 0x77665544, 0x7531;", 0x77553311},
        Computed{"prmt.b32 %r2, 0x00008000, 0, 0x9991;", 0xffffff80},
        Computed{"shf.l.wrap.b32 %r2, 0x80000000, 1, 33;", 3},
        Computed{"shf.r.clamp.b32 %r2, 5, 7, 40;", 7},
        Computed{"lop3.b32 %r2, 0xF0, 0xCC, 0xAA, 0x80;", 0x80},
        Computed{"popc.b32 %r2, 0xF0F;", 8}, Computed{"clz.b32 %r2, 1;", 31},
        Computed{"brev.b32 %r2, 1;", 0x80000000},
        Computed{"not.b32 %r2, 1;", 0xfffffffe},
        Computed{"xor.b32 %r2, 6, 3;", 5},
        Computed{half("neg.s16 %rs1, 1;"), 0xffff},
        Computed{"abs.s32 %r2, -5;", 5},
        Computed{lower("min.u64 %rd4, -1, 7;"), 7},
        Computed{"mov.b32 %r2, {0x1234, 0x5678};", 0x56781234},
        Computed{"mov.b32 {_, %rs1}, 0x56781234; cvt.u32.u16 %r2, %rs1;",
                 0x5678}));

INSTANTIATE_TEST_SUITE_P(
    Floats, Opcodes,
    testing::Values(
        // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24: the product is not rounded.
        Computed{"fma.rn.f32 %r2, 0f3F800800, 0f3F800800, 0fBF801000;",
                 0x33800000},
        // 1 + 1.5 2^-24 lies between 1 and 1 + 2^-23.
        Computed{"add.f32 %r2, 0f3F800000, 0f33C00000;", 0x3f800001},
        Computed{"add.rz.f32 %r2, 0f3F800000, 0f33C00000;", 0x3f800000},
        Computed{"add.rm.f32 %r2, 0f3F800000, 0f33C00000;", 0x3f800000},
        Computed{"add.rp.f32 %r2, 0f3F800000, 0f33000000;", 0x3f800001},
        Computed{"add.rm.f32 %r2, 0fBF800000, 0fB3000000;", 0xbf800001},
        Computed{"div.rn.f32 %r2, 0f3F800000, 0f40400000;", 0x3eaaaaab},
        Computed{"div.rz.f32 %r2, 0f3F800000, 0f40400000;", 0x3eaaaaaa},
        Computed{"sqrt.rn.f32 %r2, 0f40000000;", 0x3fb504f3},
        Computed{"rcp.rn.f32 %r2, 0f40800000;", 0x3e800000},
        // Subnormals are kept unless .ftz is there.
        Computed{"mul.f32 %r2, 0f00000002, 0f3F800000;", 2},
        Computed{"mul.ftz.f32 %r2, 0f80000002, 0f3F800000;", 0x80000000},
        Computed{"mul.sat.f32 %r2, 0f40000000, 0f3F800000;", 0x3f800000},
        Computed{"max.f32 %r2, 0f7FFFFFFF, 0f3F800000;", 0x3f800000},
        Computed{"max.NaN.f32 %r2, 0f7FC00000, 0f3F800000;", 0x7fffffff},
        Computed{"max.f32 %r2, 0f80000000, 0f00000000;", 0},
        Computed{"min.f32 %r2, 0f00000000, 0f80000000;", 0x80000000},
        Computed{"neg.f32 %r2, 0f00000000;", 0x80000000},
        Computed{"abs.f32 %r2, 0fBF800000;", 0x3f800000},
        Computed{"copysign.f32 %r2, 0fBF800000, 0f40000000;", 0xc0000000},
        Computed{"ex2.approx.ftz.f32 %r2, 0f40400000;", 0x41000000},
        Computed{"ex2.approx.ftz.f32 %r2, 0fC3000000;", 0},
        Computed{"lg2.approx.f32 %r2, 0f41000000;", 0x40400000},
        Computed{upper("fma.rn.f64 %rd4, 0d3FF8000000000000, "
                       "0d4000000000000000, 0d3FF0000000000000;"),
                 0x40100000},
        Computed{upper("rcp.approx.ftz.f64 %rd4, 0d4010000000000000;"),
                 0x3fd00000}));

INSTANTIATE_TEST_SUITE_P(
    Halves, Opcodes,
    testing::Values(
        // 3 * 5 + 0.5
        Computed{half("fma.rn.bf16 %rs1, 0x4040, 0x40A0, 0x3F00;"), 0x4178},
        // (1 + 2^-7)^2 - (1 + 2^-6) is 2^-14.
        Computed{half("fma.rn.bf16 %rs1, 0x3F81, 0x3F81, 0xBF82;"), 0x3880},
        Computed{half("add.rn.f16 %rs1, 0x3C00, 0x3C00;"), 0x4000},
        // 2048 + 1 is a tie, which rounds to even, and 2048 + 3 one to 2052.
        Computed{half("add.rn.f16 %rs1, 0x6800, 0x3C00;"), 0x6800},
        Computed{half("add.rn.f16 %rs1, 0x6800, 0x4200;"), 0x6802},
        // 2048 + (1 + 2^-10)^2 lies above that tie.
        Computed{half("fma.rn.f16 %rs1, 0x3C01, 0x3C01, 0x6800;"), 0x6801},
        // -1 * 2 | 1 * 2
        Computed{"mul.bf16x2 %r2, 0xBF803F80, 0x40004000;", 0xc0004000},
        Computed{"max.f16x2 %r2, 0x3C00BC00, 0x40000000;", 0x40000000},
        Computed{half("max.NaN.bf16 %rs1, 0x7FC0, 0x3F80;"), 0x7fff},
        Computed{half("neg.f16 %rs1, 0x3C00;"), 0xbc00},
        // 3 + 0.5, 2048 - 2^-12 and (1 + 2^-10)^2 + 2^-20, in f32
        Computed{"add.rn.f32.bf16 %r2, 0x4040, 0f3F000000;", 0x40600000},
        Computed{"sub.rn.f32.f16 %r2, 0x6800, 0f39800000;", 0x44fffffe},
        Computed{"fma.rn.f32.f16 %r2, 0x3C01, 0x3C01, 0f35800000;", 0x3f804010},
        Computed{half("fma.rn.relu.f16 %rs1, 0x3C00, 0xBC00, 0x0000;"), 0}));

INSTANTIATE_TEST_SUITE_P(
    Conversions, Opcodes,
    testing::Values(
        Computed{"cvt.rni.s32.f32 %r2, 0f40200000;", 2}, // 2.5
        Computed{"cvt.rni.s32.f32 %r2, 0f40600000;", 4}, // 3.5
        Computed{"cvt.rzi.s32.f32 %r2, 0fC02CCCCD;", uint32_t(-2)},
        Computed{"cvt.rmi.s32.f32 %r2, 0fC0200000;", uint32_t(-3)},
        Computed{"cvt.rpi.s32.f32 %r2, 0fC0200000;", uint32_t(-2)},
        Computed{"cvt.rzi.s32.f32 %r2, 0f4F800000;", 0x7fffffff}, // 2^32
        Computed{"cvt.rzi.u32.f32 %r2, 0fBF800000;", 0},
        Computed{"cvt.rzi.s32.f32 %r2, 0f7FC00000;", 0},
        Computed{upper("cvt.rzi.s64.f32 %rd4, 0f7FC00000;"), 0x80000000},
        Computed{half("cvt.rzi.u16.f32 %rs1, 0f4788B800;"), 65535}, // 70000
        Computed{"cvt.rmi.f32.f32 %r2, 0fBFC00000;", 0xc0000000},
        Computed{"cvt.rn.f32.s32 %r2, 16777217;", 0x4b800000},
        Computed{"cvt.rp.f32.s32 %r2, 16777217;", 0x4b800001},
        Computed{"cvt.rn.f32.u64 %r2, 18446744073709551615;", 0x5f800000},
        Computed{"cvt.rz.f32.u64 %r2, 18446744073709551615;", 0x5f7fffff},
        Computed{"cvt.rn.f32.f64 %r2, 0d3FF0000010000000;", 0x3f800000},
        Computed{upper("cvt.f64.f32 %rd4, 0f3FC00000;"), 0x3ff80000},
        Computed{"cvt.sat.f32.f32 %r2, 0f40000000;", 0x3f800000},
        Computed{"cvt.sat.f32.f32 %r2, 0fBF800000;", 0},
        Computed{"cvt.sat.f32.f32 %r2, 0f7FC00000;", 0},
        Computed{half("cvt.rn.bf16.f32 %rs1, 0f3F808000;"), 0x3f80},
        Computed{half("cvt.rn.bf16.f32 %rs1, 0f3F818000;"), 0x3f82},
        Computed{half("cvt.rn.bf16.f32 %rs1, 0f3F808001;"), 0x3f81},
        Computed{half("cvt.rn.bf16.f32 %rs1, 0f7FFFFFFF;"), 0x7fff},
        Computed{"cvt.rn.bf16x2.f32 %r2, 0f3F800000, 0f40000000;", 0x3f804000},
        Computed{"cvt.rn.f16x2.f32 %r2, 0f3F800000, 0f40000000;", 0x3c004000},
        Computed{"cvt.rn.relu.bf16x2.f32 %r2, 0fBF800000, 0f40000000;", 0x4000},
        Computed{half("cvt.rn.f16.f32 %rs1, 0f477FF000;"), 0x7c00}, // 65520
        Computed{half("cvt.rn.f16.f32 %rs1, 0f477FEF00;"), 0x7bff}, // 65519
        Computed{half("cvt.rn.f16.f32 %rs1, 0f33800000;"), 1},      // 2^-24
        Computed{half("cvt.rn.f16.f32 %rs1, 0f33000000;"), 0},      // 2^-25
        // 1 + 2^-11 + 2^-40: in f32 it would be a tie.
        Computed{half("cvt.rn.f16.f64 %rs1, 0d3FF0020000001000;"), 0x3c01},
        Computed{"mov.b16 %rs1, 0xFBFF; cvt.f32.f16 %r2, %rs1;", 0xc77fe000},
        Computed{"mov.b16 %rs1, 0x3FC0; cvt.f32.bf16 %r2, %rs1;", 0x3fc00000},
        Computed{"mov.b16 %rs1, 0x80; cvt.s32.s8 %r2, %rs1;", 0xffffff80},
        Computed{"mov.b16 %rs1, 0x8000; cvt.u32.u16 %r2, %rs1;", 0x8000},
        Computed{"cvt.sat.s16.s32 %rs1, 70000; cvt.u32.u16 %r2, %rs1;",
                 0x7fff}));

INSTANTIATE_TEST_SUITE_P(
    Comparisons, Opcodes,
    testing::Values(
        Computed{predicate("setp.lt.s32 %p1, -1, 1;"), 1},
        Computed{predicate("setp.lt.u32 %p1, -1, 1;"), 0},
        Computed{predicate("setp.hi.u32 %p1, -1, 1;"), 1},
        Computed{predicate("setp.lt.f32 %p1, 0f7FC00000, 0f3F800000;"), 0},
        Computed{predicate("setp.ltu.f32 %p1, 0f7FC00000, 0f3F800000;"), 1},
        Computed{predicate("setp.ne.f32 %p1, 0f7FC00000, 0f7FC00000;"), 0},
        Computed{predicate("setp.neu.f32 %p1, 0f7FC00000, 0f7FC00000;"), 1},
        Computed{predicate("setp.nan.f32 %p1, 0f7FC00000, 0f3F800000;"), 1},
        Computed{predicate("setp.num.f32 %p1, 0f3F800000, 0f3F800000;"), 1},
        Computed{predicate("setp.eq.f32 %p1, 0f80000000, 0f00000000;"), 1},
        Computed{predicate("setp.le.f16 %p1, 0x3C00, 0x4000;"), 1},
        Computed{predicate("setp.gt.bf16 %p1, 0xBF80, 0x3F80;"), 0},
        Computed{predicate("mov.pred %p2, 0; setp.eq.and.b32 %p1, 1, 1, %p2;"),
                 0},
        Computed{predicate("setp.eq.b32 %p2, 1, 1; not.pred %p1, %p2;"), 0},
        Computed{predicate("testp.subnormal.f32 %p1, 0f00000001;"), 1}));

} // namespace
} // namespace dlc::ptx
