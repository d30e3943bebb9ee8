// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/bind/DimExpression.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <utility>

namespace dlc::import {
// A named namespace, since other files define Value, too.
namespace expression {
namespace {

constexpr int64_t kMost = int64_t(1) << 53;
constexpr int kDeepest = 64;

struct Fraction {
  int64_t over = 0, under = 1; // reduced; under > 0
};

using Wide = __int128;
using Value = std::optional<Fraction>; // nullopt: cannot be evaluated

Value fraction(Wide over, Wide under) {
  if (under == 0)
    return {};
  if (under < 0)
    over = -over, under = -under;
  Wide a = over < 0 ? -over : over, b = under;
  while (b)
    a = std::exchange(b, a % b);
  over /= a, under /= a;
  if (over > kMost || over < -kMost || under > kMost)
    return {};
  return Fraction{static_cast<int64_t>(over), static_cast<int64_t>(under)};
}

Value plus(Fraction a, Fraction b) {
  return fraction(Wide(a.over) * b.under + Wide(b.over) * a.under,
                  Wide(a.under) * b.under);
}
Value minus(Fraction a, Fraction b) { return plus(a, {-b.over, b.under}); }
Value times(Fraction a, Fraction b) {
  return fraction(Wide(a.over) * b.over, Wide(a.under) * b.under);
}
Value divided(Fraction a, Fraction b) {
  return fraction(Wide(a.over) * b.under, Wide(a.under) * b.over);
}
Value floorOf(Fraction a) {
  return Fraction{a.over / a.under - (a.over % a.under < 0), 1};
}
Value ceilOf(Fraction a) {
  return Fraction{a.over / a.under + (a.over % a.under > 0), 1};
}
bool isLess(Fraction a, Fraction b) {
  return Wide(a.over) * b.under < Wide(b.over) * a.under;
}
Value floorDivided(Fraction a, Fraction b) {
  const Value q = divided(a, b);
  return q ? floorOf(*q) : Value();
}
/// The result has the sign of b, as in Python.
Value modulo(Fraction a, Fraction b) {
  const Value q = floorDivided(a, b);
  const Value whole = q ? times(*q, b) : Value();
  return whole ? minus(a, *whole) : Value();
}
Value power(Fraction a, Fraction b) {
  if (b.under != 1 || b.over < 0 || b.over > 62)
    return {};
  Value y = Fraction{1, 1};
  for (int64_t i = 0; y && i < b.over; ++i)
    y = times(*y, a);
  return y;
}

struct Function {
  const char *name;
  size_t least, most; // arguments
  Value (*fold)(Fraction, Fraction);
  Value (*one)(Fraction);
};

Value larger(Fraction a, Fraction b) { return isLess(a, b) ? b : a; }
Value smaller(Fraction a, Fraction b) { return isLess(b, a) ? b : a; }
Value ceilDivided(Fraction a, Fraction b) {
  const Value q = divided(a, b);
  return q ? ceilOf(*q) : Value();
}

constexpr Function kFunctions[] = {
    {"floor", 1, 1, nullptr, floorOf},
    {"ceil", 1, 1, nullptr, ceilOf},
    {"ceiling", 1, 1, nullptr, ceilOf},
    {"Max", 1, 64, larger, nullptr},
    {"max", 1, 64, larger, nullptr},
    {"Min", 1, 64, smaller, nullptr},
    {"min", 1, 64, smaller, nullptr},
    {"Mod", 2, 2, modulo, nullptr},
    {"PythonMod", 2, 2, modulo, nullptr},
    {"FloorDiv", 2, 2, floorDivided, nullptr},
    {"CleanDiv", 2, 2, divided, nullptr},
    {"CeilDiv", 2, 2, ceilDivided, nullptr},
};

/// A recursive-descent parser and evaluator. isWellFormed distinguishes text
/// that is not an expression from one that cannot be evaluated.
class Reader {
public:
  using Lookup = std::function<std::optional<int64_t>(const std::string &)>;

  Reader(const std::string &text, const Lookup &lookup)
      : text(text), lookup(lookup) {}

  Value read() {
    Value y = sum();
    isWellFormed &= (skip(), at == text.size());
    return y;
  }
  bool isWellFormed = true;
  std::vector<std::string> names;
  bool isCompound = false; // more than one name or number

private:
  void skip() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool take(const char *word) {
    skip();
    const std::string_view rest = std::string_view(text).substr(at);
    if (!rest.starts_with(word))
      return false;
    at += std::string_view(word).size();
    return true;
  }
  Value wrong() {
    isWellFormed = false;
    at = text.size();
    return {};
  }
  Value both(Value (*combine)(Fraction, Fraction), Value a, Value b) {
    isCompound = true;
    return a && b ? combine(*a, *b) : Value();
  }

  Value sum() {
    Value y = product();
    for (;;)
      if (take("+"))
        y = both(plus, y, product());
      else if (take("-"))
        y = both(minus, y, product());
      else
        return y;
  }
  Value product() {
    Value y = factor();
    for (;;) {
      skip();
      if (text.compare(at, 2, "**") != 0 && take("*"))
        y = both(times, y, factor());
      else if (take("//"))
        y = both(floorDivided, y, factor());
      else if (take("/"))
        y = both(divided, y, factor());
      else if (take("%"))
        y = both(modulo, y, factor());
      else
        return y;
    }
  }
  Value factor() {
    if (++depth > kDeepest)
      return wrong();
    Value y;
    if (take("-"))
      y = both(minus, Fraction{0, 1}, factor());
    else if (y = primary(); take("**"))
      y = both(power, y, factor());
    --depth;
    return y;
  }
  Value primary() {
    if (take("(")) {
      isCompound = true;
      Value y = sum();
      return take(")") ? y : wrong();
    }
    skip();
    const size_t first = at;
    const auto isIn = [&](auto is) {
      return at < text.size() && is(static_cast<unsigned char>(text[at]));
    };
    while (isIn([](int c) { return std::isalnum(c) || c == '_' || c == '.'; }))
      ++at;
    const std::string word = text.substr(first, at - first);
    if (word.empty() || word[0] == '.')
      return wrong();
    if (!std::isdigit(static_cast<unsigned char>(word[0])))
      return take("(") ? called(word) : named(word);
    if (word.size() > 15 ||
        word.find_first_not_of("0123456789") != std::string::npos)
      return wrong();
    return Fraction{std::stoll(word), 1};
  }
  Value called(const std::string &name) {
    isCompound = true;
    std::vector<Value> values;
    do
      values.push_back(sum());
    while (isWellFormed && take(","));
    const auto *function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&](const Function &f) { return f.name == name; });
    if (!take(")") || function == std::end(kFunctions) ||
        values.size() < function->least || values.size() > function->most)
      return wrong();
    Value y = values[0];
    if (function->one)
      return y ? function->one(*y) : y;
    for (size_t i = 1; i < values.size(); ++i)
      y = both(function->fold, y, values[i]);
    return y;
  }
  Value named(const std::string &name) {
    if (known.insert(name).second)
      names.push_back(name);
    const auto value = lookup(name);
    return value ? fraction(*value, 1) : Value();
  }

  const std::string &text;
  const Lookup &lookup;
  std::unordered_set<std::string> known; // names
  size_t at = 0;
  int depth = 0;
};

} // namespace
} // namespace expression

std::vector<std::string> namesInDimension(const std::string &text) {
  const expression::Reader::Lookup none = [](auto &) {
    return std::optional<int64_t>();
  };
  expression::Reader reader(text, none);
  reader.read();
  if (!reader.isWellFormed || !reader.isCompound)
    return {};
  return reader.names;
}

Result<int64_t> dimensionOf(
    const std::string &text,
    const std::function<std::optional<int64_t>(const std::string &)> &valueOf) {
  expression::Reader reader(text, valueOf);
  const expression::Value y = reader.read();
  if (!reader.isWellFormed)
    return failed("'{}' is not an expression", text);
  if (!y)
    return failed("'{}' cannot be counted", text);
  if (y->under != 1)
    return failed("'{}' is {}/{}, expected a whole number", text, y->over,
                  y->under);
  if (y->over < 1)
    return failed("'{}' is {}, expected at least 1", text, y->over);
  return y->over;
}

} // namespace dlc::import
