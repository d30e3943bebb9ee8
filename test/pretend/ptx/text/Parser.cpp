// SPDX-License-Identifier: Apache-2.0
#include "Parser.h"
#include "Lexer.h"

#include <algorithm>
#include <cstring>

namespace dlc::ptx {
namespace {

/// Bits of a fundamental type, by its name with the dot; 0: it is none.
unsigned bitsOfType(std::string_view type) {
  if (type == ".pred")
    return 1;
  if (type.size() < 3 || !std::strchr("busf", type[1]))
    return 0;
  for (unsigned bits : {8, 16, 32, 64, 128})
    if (type.substr(2) == std::to_string(bits))
      return bits;
  return 0;
}

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(splitTokens(text)) {}

  ProgramText run() {
    while (!is(Token::End))
      parseTopLevel();
    return std::move(program);
  }

private:
  //===--- tokens ---------------------------------------------------------===//

  const Token &now() const { return tokens[at]; }
  bool is(Token::Kind kind) const { return now().kind == kind; }
  bool is(std::string_view text) const {
    return now().text == text && !is(Token::Text);
  }
  bool take(std::string_view text) {
    const bool found = is(text);
    at += found;
    return found;
  }
  [[noreturn]] void refuse(const std::string &expected) const {
    throw Refusal(now().line, "expected " + expected + ", found '" +
                                  std::string(now().text) + "'");
  }
  void expect(std::string_view text) {
    if (!take(text))
      refuse("'" + std::string(text) + "'");
  }
  std::string word() {
    if (!is(Token::Word))
      refuse("a name");
    return std::string(tokens[at++].text);
  }
  uint64_t number() {
    const bool isNegative = take("-");
    if (!is(Token::Number))
      refuse("a number");
    const uint64_t bits = bitsOf(tokens[at++]);
    return isNegative ? -bits : bits;
  }

  //===--- outside of functions -------------------------------------------===//

  void parseTopLevel() {
    if (take(".version")) {
      program.version = tokens[at++].text;
    } else if (take(".target")) {
      program.target = word();
      while (take(","))
        word();
    } else if (take(".address_size")) {
      if (number() != 64)
        throw Refusal(now().line, "addresses of other than 64 bits");
    } else {
      take(".visible") || take(".weak"); // linkage
      if (take(".entry"))
        parseFunction(program.entries);
      else if (take(".func"))
        parseFunction(program.functions);
      else
        program.variables.push_back(parseVariable());
    }
  }

  /// .shared .align 16 .b8 name[256];
  Variable parseVariable() {
    Variable v;
    v.line = now().line;
    v.space = word();
    if (v.space != ".shared" && v.space != ".local" && v.space != ".global" &&
        v.space != ".const")
      throw Refusal(v.line, "unknown directive '" + v.space + "'");
    const unsigned element = parseType(v);
    if (take("="))
      parseValues(v, element);
    expect(";");
    return v;
  }

  /// [.align N] .TYPE name[COUNT]; of a parameter also .ptr .global .align N.
  /// Returns the bytes of an element.
  unsigned parseType(Variable &v) {
    unsigned element = 0;
    for (; is(".align") || bitsOfType(now().text) >= 8; ++at)
      if (is(".align"))
        v.alignment = (++at, bitsOf(now()));
      else
        element = bitsOfType(now().text) / 8;
    if (take(".ptr")) {
      take(".global") || take(".shared") || take(".const") || take(".local");
      if (take(".align"))
        number(); // of what it points to
    }
    if (!element)
      refuse("a type");
    v.name = word();
    v.bytes = element;
    if (take("[")) {
      v.bytes *= number();
      expect("]");
    }
    v.alignment = std::max<uint64_t>(v.alignment, element);
    return element;
  }

  void parseValues(Variable &v, unsigned element) {
    const auto add = [&] {
      const uint64_t bits = number();
      for (unsigned i = 0; i < element; ++i)
        v.values.push_back(uint8_t(bits >> 8 * i));
    };
    if (take("{")) {
      do
        add();
      while (take(","));
      expect("}");
    } else {
      add();
    }
    if (v.values.size() > v.bytes)
      throw Refusal(v.line, v.name + " has more values than elements");
    v.values.resize(v.bytes);
  }

  //===--- functions ------------------------------------------------------===//

  void parseFunction(std::vector<Function> &to) {
    Function made;
    function = &made;
    made.line = now().line;
    parseParameters(made.results);
    made.name = word();
    parseParameters(made.parameters);
    if (take(";"))
      return; // it is defined elsewhere
    while (!is("{"))
      parseTuning();
    parseBlock();
    to.push_back(std::move(made));
  }

  void parseParameters(std::vector<Variable> &to) {
    if (!take("(") || take(")"))
      return;
    do {
      Variable &p = to.emplace_back();
      p.line = now().line;
      expect(".param");
      parseType(p);
    } while (take(","));
    expect(")");
  }

  void parseBlock() {
    expect("{");
    while (!take("}"))
      parseLine();
  }

  void parseTuning() {
    const int line = now().line;
    const std::string directive = word();
    uint64_t product = number();
    while (take(","))
      product *= number();
    if (directive == ".maxntid" || directive == ".reqntid")
      function->mostThreads = product;
    else if (directive != ".minnctapersm" && directive != ".maxnreg")
      throw Refusal(line, "unknown directive '" + directive + "'");
  }

  void parseLine() {
    if (is("{")) {
      parseBlock();
    } else if (take(".reg") || take(".param")) {
      parseRegisters();
    } else if (take(".pragma")) {
      at += is(Token::Text); // only hints: "nounroll"
      expect(";");
    } else if (is(Token::Word) && tokens[at + 1].text == ":") {
      const std::string name = word();
      expect(":");
      if (take(".branchtargets"))
        parseTable(name);
      else
        function->labels.push_back({name, function->statements.size()});
    } else if (is(Token::Word) && now().text[0] == '.') {
      function->variables.push_back(parseVariable());
    } else {
      parseStatement();
    }
  }

  void parseRegisters() {
    const unsigned bits = bitsOfType(now().text);
    if (!bits || bits == 128)
      refuse("a type of registers");
    ++at;
    do {
      std::string prefix = word();
      unsigned count = 0;
      if (take("<")) {
        count = unsigned(number());
        expect(">");
      }
      function->registers.push_back({std::move(prefix), bits, count});
    } while (take(","));
    expect(";");
  }

  void parseTable(const std::string &name) {
    BranchTable &table = function->tables.emplace_back();
    table.name = name;
    do
      table.labels.push_back(word());
    while (take(","));
    expect(";");
  }

  void parseStatement() {
    Statement s;
    s.line = now().line;
    if (take("@"))
      s.guard = parseOperand();
    s.opcode = word();
    if (!take(";")) {
      do
        s.operands.push_back(parseOperand());
      while (take(","));
      expect(";");
    }
    function->statements.push_back(std::move(s));
  }

  Operand parseOperand() {
    Operand o = parseSimple();
    if (!take("|"))
      return o;
    Operand pair;
    pair.kind = Operand::Pair;
    pair.parts.push_back(std::move(o));
    pair.parts.push_back(parseSimple());
    return pair;
  }

  Operand parseSimple() {
    Operand o;
    if (is("{") || is("(")) {
      const char *end = take("{") ? "}" : (++at, ")");
      o.kind = Operand::Vector;
      if (take(end))
        return o;
      do
        o.parts.push_back(parseOperand());
      while (take(","));
      expect(end);
    } else if (take("[")) {
      o.kind = Operand::Address;
      o.parts.push_back(parseSimple());
      if (take("+") || is("-"))
        o.value = number();
      expect("]");
    } else if (is(Token::Number) || is("-")) {
      o.kind = Operand::Number;
      o.value = number();
    } else {
      o.negated = take("!");
      o.name = word();
      o.kind = o.name == "_"      ? Operand::Nothing
               : o.name[0] == '%' ? Operand::Register
                                  : Operand::Symbol;
    }
    return o;
  }

  std::vector<Token> tokens;
  size_t at = 0;
  ProgramText program;
  Function *function = nullptr;
};

} // namespace

ProgramText parseProgram(std::string_view text) { return Parser(text).run(); }

} // namespace dlc::ptx
