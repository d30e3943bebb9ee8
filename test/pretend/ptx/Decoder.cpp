// SPDX-License-Identifier: Apache-2.0
#include "Decoder.h"
#include "Emitter.h"
#include "Forms.h"

#include <utility>

namespace dlc::ptx {
namespace {

/// Calls within calls: LLVM's functions are few, and none calls itself.
constexpr int kDeepest = 8;

const Instruction *jump(const Instruction *i, Thread &) {
  return i + i->number;
}
const Instruction *jumpIf(const Instruction *i, Thread &t) {
  return t.registers[i->operands[0]] ? i + i->number : i + 1;
}
const Instruction *jumpUnless(const Instruction *i, Thread &t) {
  return t.registers[i->operands[0]] ? i + 1 : i + i->number;
}
/// number: how many targets the list has.
const Instruction *jumpByTable(const Instruction *i, Thread &t) {
  const uint64_t which = uint32_t(t.registers[i->operands[0]]);
  if (which >= uint64_t(i->number))
    return t.launch.fail(i, t, "jumps beyond its table");
  const Kernel &kernel = t.launch.kernel;
  return &kernel.code[kernel.lists[i->list + which]];
}
const Instruction *endThread(const Instruction *, Thread &) { return nullptr; }

std::string textOf(const Operand &o) {
  std::string text;
  const auto join = [&](const char *between) {
    for (size_t i = 0; i < o.parts.size(); ++i)
      text += (i ? between : "") + textOf(o.parts[i]);
  };
  switch (o.kind) {
  case Operand::Register:
  case Operand::Symbol:
    return (o.negated ? "!" : "") + o.name;
  case Operand::Number:
    return std::to_string(int64_t(o.value));
  case Operand::Address:
    join("");
    return "[" + text +
           (o.value ? "+" + std::to_string(int64_t(o.value)) : "") + "]";
  case Operand::Vector:
    join(", ");
    return "{" + text + "}";
  case Operand::Pair:
    join("|");
    return text;
  case Operand::Nothing:
    return "_";
  }
  return text;
}

std::string textOf(const Statement &s) {
  std::string text = std::to_string(s.line) + ": " + s.opcode;
  for (size_t i = 0; i < s.operands.size(); ++i)
    text += (i ? ", " : " ") + textOf(s.operands[i]);
  return text + ";";
}

class Decoder {
public:
  Decoder(const ProgramText &program, const Function &function)
      : program(program), function(function), emit(program) {}

  Kernel run() {
    Kernel &kernel = emit.kernel;
    kernel.name = function.name;
    kernel.mostThreads = function.mostThreads;
    for (const Variable &p : function.parameters) {
      const uint64_t at =
          (kernel.parameterBytes + p.alignment - 1) / p.alignment * p.alignment;
      parameters[p.name] = kernel.parameters.size();
      kernel.parameters.push_back({at, p.bytes});
      emit.addParameter(p.name, at);
      kernel.parameterBytes = at + p.bytes;
    }
    Names names = emit.declare(function);
    decodeBody(names, 0);
    emit.finish();
    return std::move(kernel);
  }

private:
  /// A jump whose target is not decoded yet.
  struct Jump {
    uint32_t from;
    size_t statement;
    std::optional<uint32_t> entry; // of a table
  };
  struct Body {
    Names &names;
    std::vector<uint32_t> starts; // the first instruction of each statement
    std::vector<Jump> jumps;
    int depth;
  };

  void decodeBody(Names &names, int depth) {
    const Function &f = names.function;
    Body body{names, {}, {}, depth};
    Names *outer = std::exchange(emit.names, &names);
    std::vector<bool> isTarget(f.statements.size() + 1);
    for (const Label &l : f.labels)
      isTarget[l.statement] = true;
    bool begins = true;
    for (size_t i = 0; i < f.statements.size(); ++i) {
      const Statement &s = f.statements[i];
      emit.statement = &s;
      emit.statementNumber = uint32_t(emit.kernel.lines.size());
      emit.kernel.lines.push_back(textOf(s));
      emit.kernel.opcodes.push_back(s.opcode);
      body.starts.push_back(uint32_t(emit.kernel.code.size()));
      if (begins || isTarget[i])
        emit.beginBlock();
      begins = decode(s, body);
    }
    // Where a function that is called goes on behind its call, too.
    body.starts.push_back(uint32_t(emit.kernel.code.size()));
    if (depth)
      emit.beginBlock();
    for (const Jump &j : body.jumps)
      setTarget(j, body.starts[j.statement]);
    emit.names = outer;
  }

  void setTarget(const Jump &j, uint32_t target) {
    emit.kernel.effects[j.from].targets.push_back(target);
    if (j.entry)
      emit.kernel.lists[*j.entry] = target;
    else
      emit.kernel.code[j.from].number = int64_t(target) - j.from;
  }

  /// Returns whether it ends a block.
  bool decode(const Statement &s, Body &body) {
    std::optional<uint32_t> skip;
    if (s.guard.kind != Operand::Nothing) {
      if (s.opcode.starts_with("bra"))
        return decodeBranch(s, body);
      Operand p = s.guard;
      p.negated = false;
      Instruction made{s.guard.negated ? jumpIf : jumpUnless};
      made.operands[0] = emit.source(p);
      skip = uint32_t(emit.kernel.code.size());
      emit.add(made, {made.operands[0]});
      emit.beginBlock();
    }
    const bool ends = decodeUnguarded(s, body);
    if (skip)
      setTarget({*skip, 0, {}}, uint32_t(emit.kernel.code.size()));
    return ends || skip;
  }

  bool decodeUnguarded(const Statement &s, Body &body) {
    if (s.opcode.starts_with("bra"))
      return decodeBranch(s, body);
    if (s.opcode == "brx.idx")
      return decodeTable(s, body);
    if (s.opcode.starts_with("call")) {
      decodeCall(s, body);
      return false;
    }
    if (s.opcode == "ret" || s.opcode == "exit") {
      const bool returns = body.depth && s.opcode == "ret";
      const auto at = uint32_t(emit.kernel.code.size());
      emit.add(Instruction{returns ? jump : endThread}, {});
      emit.kernel.effects.back().falls = false;
      if (returns)
        body.jumps.push_back({at, body.names.function.statements.size(), {}});
      return true;
    }
    if (s.opcode.starts_with("ld.param") && decodeParameter(s))
      return false;
    decodeForm(emit, s);
    return false;
  }

  size_t statementOf(const std::string &label, const Body &body) const {
    const auto found = body.names.labels.find(label);
    if (found == body.names.labels.end())
      emit.refuse("unknown label '" + label + "'");
    return found->second;
  }

  bool decodeBranch(const Statement &s, Body &body) {
    if ((s.opcode != "bra" && s.opcode != "bra.uni") || s.operands.size() != 1)
      emit.refuse("unknown opcode");
    body.jumps.push_back({uint32_t(emit.kernel.code.size()),
                          statementOf(s.operands[0].name, body),
                          {}});
    if (s.guard.kind == Operand::Nothing) {
      emit.add(Instruction{jump}, {});
      emit.kernel.effects.back().falls = false;
      return true;
    }
    Operand p = s.guard;
    p.negated = false;
    Instruction made{s.guard.negated ? jumpUnless : jumpIf};
    made.operands[0] = emit.source(p);
    emit.add(made, {made.operands[0]});
    return true;
  }

  bool decodeTable(const Statement &s, Body &body) {
    for (const BranchTable &table : body.names.function.tables) {
      if (s.operands.size() != 2 || table.name != s.operands[1].name)
        continue;
      Instruction made{jumpByTable};
      made.operands[0] = emit.source(s.operands[0]);
      made.number = int64_t(table.labels.size());
      made.list = emit.addList(std::vector<uint32_t>(table.labels.size()));
      for (uint32_t i = 0; i < table.labels.size(); ++i)
        body.jumps.push_back({uint32_t(emit.kernel.code.size()),
                              statementOf(table.labels[i], body),
                              made.list + i});
      emit.add(made, {made.operands[0]});
      emit.kernel.effects.back().falls = false;
      return true;
    }
    emit.refuse("unknown table");
  }

  /// call (results), function, (parameters): the function's own instructions,
  /// with registers of its own. Its parameters and results are registers, too.
  void decodeCall(const Statement &s, Body &body) {
    static const Operand none;
    const bool hasResults =
        !s.operands.empty() && s.operands[0].kind == Operand::Vector;
    const size_t at = hasResults;
    const Function *callee = nullptr;
    for (const Function &f : program.functions)
      if (at < s.operands.size() && f.name == s.operands[at].name)
        callee = &f;
    if (!callee)
      emit.refuse("unknown function");
    if (body.depth == kDeepest)
      emit.refuse("calls are nested too deep");
    Names names = emit.declare(*callee);
    const auto bind = [&](const std::vector<Variable> &formal,
                          const Operand &actual) {
      if (actual.parts.size() != formal.size())
        emit.refuse("a wrong number of parameters");
      for (size_t i = 0; i < formal.size(); ++i)
        names.registers.insert_or_assign(
            formal[i].name, Names::Register{emit.source(actual.parts[i]),
                                            unsigned(formal[i].bytes * 8)});
    };
    bind(callee->results, hasResults ? s.operands[0] : none);
    bind(callee->parameters,
         at + 1 < s.operands.size() ? s.operands[at + 1] : none);
    const Statement *caller = emit.statement;
    const uint32_t number = emit.statementNumber;
    decodeBody(names, body.depth + 1);
    emit.statement = caller;
    emit.statementNumber = number;
  }

  /// Of the kernel's own parameters; those of calls are registers.
  bool decodeParameter(const Statement &s) {
    if (s.operands.size() != 2 || s.operands[1].kind != Operand::Address)
      emit.refuse("unknown operands");
    const auto found = parameters.find(s.operands[1].parts[0].name);
    if (found == parameters.end())
      return false;
    const Kernel::Parameter &p = emit.kernel.parameters[found->second];
    decodeParameterLoad(emit, s, p);
    return true;
  }

  const ProgramText &program;
  const Function &function;
  Emitter emit;
  std::map<std::string, size_t> parameters;
};

} // namespace

Kernel decodeKernel(const ProgramText &program, const Function &function) {
  return Decoder(program, function).run();
}

} // namespace dlc::ptx
