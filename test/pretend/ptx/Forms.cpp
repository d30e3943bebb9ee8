// SPDX-License-Identifier: Apache-2.0
#include "Forms.h"
#include "opcodes/Accesses.h"
#include "opcodes/Exchange.h"
#include "opcodes/Opcodes.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace dlc::ptx {
namespace {

const Instruction *copyRegister(const Instruction *i, Thread &t) {
  t.registers[i->operands[0]] = t.registers[i->operands[1]];
  return i + 1;
}
/// number: the bits of each; operands[1]: how many.
const Instruction *pack(const Instruction *i, Thread &t) {
  uint64_t all = 0;
  for (uint32_t k = 0; k < i->operands[1]; ++k)
    all |= t.registers[t.launch.kernel.lists[i->list + k]]
           << (uint64_t(i->number) * k);
  t.registers[i->operands[0]] = all;
  return i + 1;
}
const Instruction *unpack(const Instruction *i, Thread &t) {
  const uint64_t all = t.registers[i->operands[0]];
  for (uint32_t k = 0; k < i->operands[1]; ++k)
    t.registers[t.launch.kernel.lists[i->list + k]] =
        all >> (uint64_t(i->number) * k) & ((uint64_t(1) << i->number) - 1);
  return i + 1;
}
const Instruction *addNumber(const Instruction *i, Thread &t) {
  t.registers[i->operands[0]] =
      t.registers[i->operands[1]] + uint64_t(i->number);
  return i + 1;
}
/// Blocks run one after another, and threads one at a time: memory is in order.
const Instruction *nothing(const Instruction *i, Thread &) { return i + 1; }

std::vector<std::string> wordsOf(const std::string &opcode) {
  std::vector<std::string> words;
  std::istringstream text(opcode);
  for (std::string word; std::getline(text, word, '.');)
    words.push_back(word);
  return words;
}

class Form {
public:
  Form(Emitter &emit, const Statement &s)
      : emit(emit), s(s), words(wordsOf(s.opcode)) {}

  void decode() {
    const std::string &name = words[0];
    if (name == "mov")
      decodeMove();
    else if (name == "ld")
      decodeLoad();
    else if (name == "st")
      decodeStore();
    else if (name == "atom")
      decodeAtomic();
    else if (name == "cvta")
      decodeWindow();
    else if (name == "cp")
      decodeCopy();
    else if (name == "bar" || name == "barrier" || name == "fence")
      decodeBarrier();
    else if (name == "shfl" || name == "vote")
      decodeExchange();
    else if (name == "ldmatrix" || name == "mma")
      decodeMatrix();
    else
      decodeRegisters();
  }

private:
  [[noreturn]] void refuseOpcode() const { emit.refuse("unknown opcode"); }
  void expectOperands(size_t count) const {
    if (s.operands.size() != count)
      emit.refuse("expected " + std::to_string(count) + " operands");
  }
  std::string rest(size_t from) const {
    std::string text;
    for (size_t i = from; i < words.size(); ++i)
      text += (i > from ? "." : "") + words[i];
    return text;
  }

  void decodeRegisters() {
    const auto found = opcodes().find(s.opcode);
    const Opcode opcode =
        found != opcodes().end() ? found->second : conversionOf(s.opcode);
    if (!opcode.run)
      refuseOpcode();
    expectOperands(opcode.sources + 1);
    Instruction made{opcode.run};
    made.number = opcode.number;
    made.operands[0] = emit.destination(s.operands[0]);
    std::vector<uint32_t> reads;
    for (unsigned i = 1; i <= opcode.sources; ++i)
      reads.push_back(made.operands[i] = emit.source(s.operands[i]));
    emit.add(made, reads, {made.operands[0]});
  }

  //===--- mov ------------------------------------------------------------===//

  void decodeMove() {
    expectOperands(2);
    const Operand &to = s.operands[0], &from = s.operands[1];
    const std::string &type = words.back();
    if (words.size() != 2 || (type != "pred" && !storedOf(type).bytes))
      refuseOpcode();
    if (from.kind == Operand::Vector || to.kind == Operand::Vector)
      return decodePack(to, from, storedOf(type).bytes * 8);
    Instruction made{copyRegister};
    made.operands[0] = emit.destination(to);
    if (Handler special = specialOf(from.name)) {
      made.run = special;
      emit.add(made, {}, {made.operands[0]});
      return;
    }
    made.operands[1] =
        sourceOf(from, type == "pred" ? 1 : storedOf(type).bytes * 8);
    emit.add(made, {made.operands[1]}, {made.operands[0]});
  }

  /// As a register of so many bits has it.
  uint32_t sourceOf(Operand o, unsigned bits) {
    if (o.kind == Operand::Number && bits < 64)
      o.value &= (uint64_t(1) << bits) - 1;
    return emit.source(o);
  }

  void decodePack(const Operand &to, const Operand &from, unsigned bits) {
    const bool packs = from.kind == Operand::Vector;
    const Operand &vector = packs ? from : to, &whole = packs ? to : from;
    std::vector<uint32_t> parts;
    const auto width = unsigned(bits / vector.parts.size());
    for (const Operand &o : vector.parts)
      parts.push_back(packs ? sourceOf(o, width) : emit.destination(o));
    Instruction made{packs ? pack : unpack};
    made.operands[0] = packs ? emit.destination(whole) : emit.source(whole);
    made.operands[1] = uint32_t(parts.size());
    made.number = width;
    made.list = emit.addList(parts);
    packs ? emit.add(made, parts, {made.operands[0]})
          : emit.add(made, {made.operands[0]}, parts);
  }

  //===--- memory ---------------------------------------------------------===//

  /// Takes the space, width and type of ld.SPACE.vN.TYPE.
  struct Shape {
    Space space = Space::Generic;
    uint32_t count = 1;
    Stored stored;
  };
  Shape shapeOf() const {
    static const std::map<std::string, Space> spaces = {
        {"global", Space::Global},
        {"shared", Space::Shared},
        {"local", Space::Local},
        {"const", Space::Global}};
    Shape shape;
    for (size_t i = 1; i + 1 < words.size(); ++i)
      if (auto space = spaces.find(words[i]); space != spaces.end())
        shape.space = space->second;
      else if (words[i] == "nc" && s.opcode.starts_with("ld.global."))
        continue; // a path that sees the same values where nobody writes
      else if (words[i] == "v2" || words[i] == "v4" || words[i] == "v8")
        shape.count = uint32_t(words[i][1] - '0');
      else
        refuseOpcode(); // .volatile, caches: nothing emits them
    shape.stored = storedOf(words.back());
    if (!shape.stored.bytes)
      refuseOpcode();
    noteWidth(shape.space, shape.stored.bytes);
    return shape;
  }
  void noteWidth(Space space, unsigned bytes) const {
    if (space != Space::Global && space != Space::Local)
      emit.kernel.sharedGranule = std::min(emit.kernel.sharedGranule, bytes);
  }

  /// A register, or those of a vector in a list.
  std::vector<uint32_t> elements(const Operand &o, uint32_t count,
                                 bool writes) {
    std::vector<uint32_t> found;
    const auto add = [&](const Operand &part) {
      found.push_back(writes ? emit.destination(part) : emit.source(part));
    };
    if (o.kind == Operand::Vector)
      std::ranges::for_each(o.parts, add);
    else
      add(o);
    if (found.size() != count)
      emit.refuse("a vector of another length");
    return found;
  }

  void decodeLoad() {
    expectOperands(2);
    const Operand &to = s.operands[0], &from = s.operands[1];
    if (words[1] == "param") { // the result of a call, or by an address
      const bool isAddress = from.kind == Operand::Address &&
                             from.parts[0].kind == Operand::Register;
      Instruction made{isAddress ? loadAnyParameter : copyRegister};
      made.operands[0] = emit.destination(to);
      made.operands[1] = emit.base(from);
      made.operands[2] = storedOf(words.back()).bytes;
      made.number = emit.offset(from);
      emit.add(made, {made.operands[1]}, {made.operands[0]});
      return;
    }
    const Shape shape = shapeOf();
    const Operand &first = to.kind == Operand::Vector ? to.parts[0] : to;
    const unsigned bits = first.kind == Operand::Nothing
                              ? shape.stored.bytes * 8
                              : emit.bitsOf(first);
    const auto registers = elements(to, shape.count, true);
    Instruction made{loadOf(shape.space, shape.stored, bits)};
    made.operands[0] = registers[0];
    made.operands[1] = emit.base(from);
    made.operands[2] = shape.count;
    made.number = emit.offset(from);
    made.list = emit.addList(registers);
    emit.add(made, {made.operands[1]}, registers);
  }

  void decodeStore() {
    expectOperands(2);
    const Operand &to = s.operands[0], &from = s.operands[1];
    if (words[1] == "param") { // of a call
      Instruction made{copyRegister};
      made.operands[0] = emit.base(to);
      made.operands[1] = emit.source(from);
      emit.add(made, {made.operands[1]}, {made.operands[0]});
      return;
    }
    const Shape shape = shapeOf();
    auto registers = elements(from, shape.count, false);
    Instruction made{storeOf(shape.space, shape.stored)};
    made.operands[0] = emit.base(to);
    made.operands[1] = registers[0];
    made.operands[2] = shape.count;
    made.number = emit.offset(to);
    made.list = emit.addList(registers);
    registers.push_back(made.operands[0]);
    emit.add(made, registers);
  }

  /// atom[.SEM][.SCOPE].SPACE.OP.TYPE
  void decodeAtomic() {
    static const std::set<std::string> orders = {
        "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys"};
    Space space = Space::Generic;
    size_t at = 1;
    for (; at < words.size(); ++at)
      if (words[at] == "global" || words[at] == "shared")
        space = words[at] == "global" ? Space::Global : Space::Shared;
      else if (!orders.contains(words[at]))
        break;
    Instruction made{atomicOf(rest(at), space)};
    if (!made.run)
      refuseOpcode();
    const bool swaps = rest(at).starts_with("cas");
    expectOperands(swaps ? 4 : 3);
    noteWidth(space, storedOf(words.back()).bytes);
    made.operands[0] = emit.destination(s.operands[0]);
    made.operands[1] = emit.base(s.operands[1]);
    made.operands[2] = emit.source(s.operands[2]);
    made.operands[3] = emit.source(s.operands[swaps ? 3 : 2]);
    made.number = emit.offset(s.operands[1]);
    emit.add(made, {made.operands[1], made.operands[2], made.operands[3]},
             {made.operands[0]});
  }

  /// cvta[.to].SPACE.u64: between a space's addresses and generic ones.
  void decodeWindow() {
    expectOperands(2);
    const bool isTo = words[1] == "to";
    const std::string space = rest(isTo ? 2 : 1);
    const uint64_t window = space == "shared.u64"  ? kSharedWindow
                            : space == "local.u64" ? kLocalWindow
                                                   : 0;
    if (!window && space != "global.u64" && space != "const.u64")
      refuseOpcode();
    Instruction made{addNumber};
    made.operands[0] = emit.destination(s.operands[0]);
    made.operands[1] = emit.source(s.operands[1]);
    made.number = int64_t(isTo ? -window : window);
    emit.add(made, {made.operands[1]}, {made.operands[0]});
  }

  /// cp.async.ca.shared.global [to], [from], bytes{, bytes that are read}
  void decodeCopy() {
    Instruction made;
    const std::string kind = rest(1);
    if (kind == "async.commit_group" || kind == "async.wait_all") {
      expectOperands(0);
      made.run = kind == "async.wait_all" ? waitForAll : commitGroup;
      emit.add(made, {});
    } else if (kind == "async.wait_group") {
      expectOperands(1);
      made.run = waitForGroups;
      made.number = int64_t(s.operands[0].value);
      emit.add(made, {});
    } else if (kind == "async.ca.shared.global" ||
               kind == "async.cg.shared.global") {
      const size_t count = s.operands.size();
      if (count != 3 && count != 4)
        expectOperands(3);
      const uint64_t bytes = s.operands[2].value;
      const bool isSmall = bytes == 4 || bytes == 8;
      if (bytes != 16 && !(isSmall && kind == "async.ca.shared.global"))
        emit.refuse("cannot copy so many bytes");
      noteWidth(Space::Shared, unsigned(bytes));
      made.run = copyAsync;
      made.operands[0] = emit.base(s.operands[0]);
      made.operands[1] = emit.base(s.operands[1]);
      made.operands[2] = uint32_t(bytes);
      made.operands[4] = count == 4;
      made.number = emit.offset(s.operands[0]);
      made.list = uint32_t(emit.offset(s.operands[1]));
      if (count == 4)
        made.operands[3] = emit.source(s.operands[3]);
      std::vector<uint32_t> reads = {made.operands[0], made.operands[1]};
      if (count == 4)
        reads.push_back(made.operands[3]);
      emit.add(made, reads);
    } else {
      refuseOpcode();
    }
  }

  //===--- together -------------------------------------------------------===//

  void decodeBarrier() {
    static const std::set<std::string>
        ofBlock = {"bar.sync", "barrier.sync", "barrier.sync.aligned",
                   "barrier.cta.sync.aligned.all"},
        fences = {"fence.acq_rel.gpu", "fence.acq_rel.cta", "fence.sc.gpu"};
    if (s.opcode == "bar.warp.sync") {
      expectOperands(1);
      Instruction made{waitForWarp};
      made.operands[1] = emit.source(s.operands[0]);
      emit.add(made, {made.operands[1]});
    } else if (fences.contains(s.opcode)) {
      expectOperands(0);
      emit.add(Instruction{nothing}, {});
    } else if (ofBlock.contains(s.opcode)) {
      expectOperands(1); // which barrier; with a second one, of some threads
      if (s.operands[0].kind != Operand::Number || s.operands[0].value)
        emit.refuse("a barrier other than 0");
      emit.add(Instruction{waitForBlock}, {});
    } else {
      refuseOpcode();
    }
  }

  void decodeExchange() {
    Instruction made;
    const bool shuffles = words[0] == "shfl";
    if (words.size() == 4 && words[1] == "sync")
      made.run = shuffles ? words[3] == "b32" ? shuffleOf(words[2]) : nullptr
                          : voteOf(rest(2));
    if (!made.run)
      refuseOpcode();
    expectOperands(shuffles ? 5 : 3);
    made.operands[0] = emit.destination(s.operands[0]);
    std::vector<uint32_t> reads;
    for (size_t i = 1; i < s.operands.size(); ++i) {
      Operand o = s.operands[i];
      if (!shuffles && i == 1)
        made.number = std::exchange(o.negated, false);
      reads.push_back(made.operands[i] = emit.source(o));
    }
    emit.add(made, reads, {made.operands[0]});
  }

  void decodeMatrix() {
    static const std::map<std::string, Handler> known = {
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", loadMatrix<false>},
        {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", loadMatrix<true>},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
         multiplyMatrices<true>},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
         multiplyMatrices<false>}};
    const auto found = known.find(s.opcode);
    if (found == known.end())
      refuseOpcode();
    Instruction made{found->second};
    const auto results = [&] { return elements(s.operands[0], 4, true); };
    if (words[0] == "ldmatrix") {
      expectOperands(2);
      const auto d = results();
      made.list = emit.addList(d);
      made.operands[0] = emit.base(s.operands[1]);
      made.number = emit.offset(s.operands[1]);
      emit.add(made, {made.operands[0]}, d);
      return;
    }
    expectOperands(4);
    const auto d = results();
    made.list = emit.addList(d);
    std::vector<uint32_t> reads;
    for (auto [i, count] : {std::pair(1, 4), {2, 2}, {3, 4}})
      for (uint32_t r : elements(s.operands[i], count, false))
        reads.push_back(r);
    emit.addList(reads);
    emit.add(made, reads, d);
  }

  Emitter &emit;
  const Statement &s;
  const std::vector<std::string> words;
};

} // namespace

void decodeForm(Emitter &emit, const Statement &statement) {
  Form(emit, statement).decode();
}

void decodeParameterLoad(Emitter &emit, const Statement &s,
                         const Kernel::Parameter &parameter) {
  const unsigned bytes = storedOf(wordsOf(s.opcode).back()).bytes;
  const uint64_t offset = s.operands[1].value;
  if (!bytes || wordsOf(s.opcode).size() != 3)
    emit.refuse("unknown opcode");
  if (offset + bytes > parameter.bytes)
    emit.refuse("reads beyond the parameter");
  Instruction made{loadParameter};
  made.operands[0] = emit.destination(s.operands[0]);
  made.operands[2] = bytes;
  made.number = int64_t(parameter.offset + offset);
  emit.add(made, {}, {made.operands[0]});
}

} // namespace dlc::ptx
