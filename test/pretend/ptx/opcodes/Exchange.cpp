// SPDX-License-Identifier: Apache-2.0
#include "Exchange.h"
#include "test/pretend/emulator/Grid.h"
#include "test/pretend/emulator/Tensor.h"
#include "test/pretend/ptx/Launch.h"

namespace dlc::ptx {

using test::Fibers;
using test::WarpOp;

namespace {

uint32_t word(const Instruction *i, const Thread &t, int operand) {
  return uint32_t(t.registers[i->operands[operand]]);
}

template <WarpOp kOp>
const Instruction *shuffle(const Instruction *i, Thread &t) {
  t.registers[i->operands[0]] = Fibers::current().warp(
      kOp, word(i, t, 4), word(i, t, 1), word(i, t, 2), word(i, t, 3));
  return i + 1;
}

template <WarpOp kOp> const Instruction *vote(const Instruction *i, Thread &t) {
  t.registers[i->operands[0]] = Fibers::current().warp(
      kOp, word(i, t, 2), (word(i, t, 1) & 1) ^ uint32_t(i->number), 0, 0);
  return i + 1;
}

enum class Special { Thread, Threads, Block, Blocks, Lane, Zero, One };

template <Special kWhich>
const Instruction *readSpecial(const Instruction *i, Thread &t) {
  t.registers[i->operands[0]] =
      kWhich == Special::Thread    ? t.number
      : kWhich == Special::Threads ? uint32_t(Fibers::current().count())
      : kWhich == Special::Block   ? test::runningBlock()
      : kWhich == Special::Blocks  ? test::blocksOfLaunch()
      : kWhich == Special::Lane    ? t.number % 32
                                   : kWhich == Special::One;
  return i + 1;
}

} // namespace

const Instruction *waitForBlock(const Instruction *i, Thread &t) {
  Fibers::current().barrier();
  ++t.barriers;
  return i + 1;
}

const Instruction *waitForWarp(const Instruction *i, Thread &t) {
  Fibers::current().warp(WarpOp::All, word(i, t, 1), 1, 0, 0);
  ++t.meetings;
  return i + 1;
}

Handler shuffleOf(const std::string &mode) {
  return mode == "bfly"   ? shuffle<WarpOp::ShuffleXor>
         : mode == "idx"  ? shuffle<WarpOp::ShuffleIdx>
         : mode == "up"   ? shuffle<WarpOp::ShuffleUp>
         : mode == "down" ? shuffle<WarpOp::ShuffleDown>
                          : nullptr;
}

Handler voteOf(const std::string &kind) {
  return kind == "all.pred"     ? vote<WarpOp::All>
         : kind == "any.pred"   ? vote<WarpOp::Any>
         : kind == "ballot.b32" ? vote<WarpOp::Ballot>
                                : nullptr;
}

const Instruction *copyAsync(const Instruction *i, Thread &t) {
  const uint32_t bytes = i->operands[2];
  const uint32_t read = i->operands[4] ? word(i, t, 3) : bytes;
  if (read > bytes)
    return t.launch.fail(i, t, "reads more than it copies");
  uint8_t *to =
      t.launch.at(i, t, Space::Shared, t.registers[i->operands[0]] + i->number,
                  bytes, Access::Write);
  if (!to)
    return nullptr;
  const uint8_t *from = nullptr;
  // What it does not read may lie anywhere.
  if (read && !(from = t.launch.at(i, t, Space::Global,
                                   t.registers[i->operands[1]] +
                                       int64_t(int32_t(i->list)),
                                   read, Access::Read)))
    return nullptr;
  test::copyLater({to, from, read, bytes - read});
  return i + 1;
}

const Instruction *commitGroup(const Instruction *i, Thread &) {
  test::commitCopies();
  return i + 1;
}
const Instruction *waitForGroups(const Instruction *i, Thread &) {
  test::landAllBut(size_t(i->number));
  return i + 1;
}
const Instruction *waitForAll(const Instruction *i, Thread &) {
  test::commitCopies();
  test::landAllBut(0);
  return i + 1;
}

template <bool kTransposed>
const Instruction *loadMatrix(const Instruction *i, Thread &t) {
  const uint8_t *line =
      t.launch.at(i, t, Space::Shared, t.registers[i->operands[0]] + i->number,
                  16, Access::Read);
  if (!line)
    return nullptr;
  uint32_t loaded[4];
  test::loadMatrices(reinterpret_cast<const uint16_t *>(line), loaded,
                     kTransposed);
  for (int k = 0; k < 4; ++k)
    t.registers[t.launch.kernel.lists[i->list + k]] = loaded[k];
  return i + 1;
}
template const Instruction *loadMatrix<false>(const Instruction *, Thread &);
template const Instruction *loadMatrix<true>(const Instruction *, Thread &);

template <bool kBf16>
const Instruction *multiplyMatrices(const Instruction *i, Thread &t) {
  const uint32_t *list = &t.launch.kernel.lists[i->list];
  uint32_t factors[6];
  float c[4], d[4];
  for (int k = 0; k < 6; ++k)
    factors[k] = uint32_t(t.registers[list[4 + k]]);
  for (int k = 0; k < 4; ++k)
    c[k] = fromRegister<float>(t.registers[list[10 + k]]);
  test::multiplyFragments(factors, factors + 4, c, d, kBf16);
  for (int k = 0; k < 4; ++k)
    t.registers[list[k]] = toRegister(d[k]);
  return i + 1;
}
template const Instruction *multiplyMatrices<false>(const Instruction *,
                                                    Thread &);
template const Instruction *multiplyMatrices<true>(const Instruction *,
                                                   Thread &);

Handler specialOf(const std::string &name) {
  return name == "%tid.x"      ? readSpecial<Special::Thread>
         : name == "%ntid.x"   ? readSpecial<Special::Threads>
         : name == "%ctaid.x"  ? readSpecial<Special::Block>
         : name == "%nctaid.x" ? readSpecial<Special::Blocks>
         : name == "%laneid"   ? readSpecial<Special::Lane>
         : name == "%tid.y" || name == "%tid.z" || name == "%ctaid.y" ||
                 name == "%ctaid.z"
             ? readSpecial<Special::Zero>
         : name == "%ntid.y" || name == "%ntid.z" || name == "%nctaid.y" ||
                 name == "%nctaid.z"
             ? readSpecial<Special::One>
             : nullptr;
}

} // namespace dlc::ptx
