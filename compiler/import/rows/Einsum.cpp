// SPDX-License-Identifier: Apache-2.0
// Einsum. Each operand is converted to a tensor of distinct letters; two at a
// time are then contracted by a matrix product. Dimensions of an ellipsis are
// labelled by position, from the last.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"
#include <set>

using namespace mlir;

namespace dlc::import {
namespace {

/// A letter, or -1 - i for the i-th last dimension of an ellipsis.
using Label = int;
using Labels = std::vector<Label>;

/// Limit for products of integers, which are computed elementwise.
constexpr int64_t kMostTerms = int64_t(1) << 28;

struct Term {
  Expr x;
  Labels labels; // one per dimension
};

bool has(const Labels &labels, Label label) {
  return llvm::is_contained(labels, label);
}
int64_t placeOf(const Labels &labels, Label label) {
  return llvm::find(labels, label) - labels.begin();
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The labels of one term of the equation; `ellipsis` is the rank of "...".
FailureOr<Labels> labelsOf(const Node &n, StringRef term, int64_t ellipsis) {
  Labels labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (isLetter(term[i])) {
      labels.push_back(term[i]);
    } else if (!dots && term.substr(i).starts_with("...")) {
      dots = true;
      for (int64_t d = ellipsis; d-- > 0;)
        labels.push_back(Label(-1 - d));
      i += 2;
    } else {
      return n.fail(
          "equation: found '{}', expected letters and at most one ellipsis",
          term);
    }
  }
  return labels;
}

/// Rank of "..." in a term of `rank` dimensions; -1 without ellipsis.
int64_t ellipsisOf(StringRef term, int64_t rank) {
  return term.contains("...") ? rank - int64_t(term.size()) + 3 : -1;
}

/// Sizes of all labels; dimensions of 1 are broadcast.
using Sizes = std::map<Label, int64_t>;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

/// Result labels without "->": ellipsis, then letters that occur once, sorted.
Labels impliedResult(const std::vector<Labels> &operands, int64_t ellipsis) {
  std::map<Label, int> count;
  for (const Labels &labels : operands)
    for (Label label : labels)
      ++count[label];
  Labels result;
  for (int64_t d = ellipsis; d-- > 0;)
    result.push_back(Label(-1 - d));
  for (auto [label, times] : count)
    if (label > 0 && times == 1)
      result.push_back(label);
  return result;
}

FailureOr<Equation> parse(const Node &n, ArrayRef<Expr> operands) {
  std::string text = n.text("equation", "");
  std::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != operands.size())
    return n.fail("equation '{}' has {} operands, the node {}", text,
                  terms.size(), operands.size());
  int64_t ellipsis = 0;
  for (auto [term, x] : llvm::zip_equal(terms, operands)) {
    const int64_t here = ellipsisOf(term, x.rank());
    if (here < -1)
      return n.fail("equation: '{}' does not fit to shape {}", term,
                    shapeOf(x));
    ellipsis = std::max(ellipsis, here);
  }
  Equation e;
  for (auto [term, x] : llvm::zip_equal(terms, operands)) {
    DLC_GET(auto labels, labelsOf(n, term, ellipsisOf(term, x.rank())));
    if (int64_t(labels.size()) != x.rank())
      return n.fail("equation: '{}' does not fit to shape {}", term,
                    shapeOf(x));
    e.operands.push_back(labels);
  }
  if (!StringRef(text).contains("->")) {
    e.result = impliedResult(e.operands, ellipsis);
    return e;
  }
  DLC_GET(e.result, labelsOf(n, right, ellipsis));
  return e;
}

FailureOr<Sizes> sizesOf(const Node &n, const Equation &e,
                         ArrayRef<Expr> operands) {
  Sizes sizes;
  for (auto [labels, x] : llvm::zip_equal(e.operands, operands))
    for (auto [label, size] : llvm::zip_equal(labels, x.shape())) {
      auto [known, isNew] = sizes.emplace(label, size);
      if (isNew || known->second == size || size == 1)
        continue;
      if (known->second != 1)
        return n.fail("one letter of equation '{}' has sizes {} and {}",
                      n.text("equation", ""), known->second, size);
      known->second = size;
    }
  std::set<Label> seen;
  for (Label label : e.result)
    if (!sizes.count(label) || !seen.insert(label).second)
      return n.fail("equation '{}': each letter of the result stands there "
                    "once, and in an operand",
                    n.text("equation", ""));
  return sizes;
}

/// Makes labels unique: removes broadcast dimensions of 1, and takes the
/// diagonal of repeated letters.
Term distinct(Expr x, const Labels &labels, const Sizes &sizes) {
  Term t{x, labels};
  for (int64_t d = x.rank(); d-- > 0;)
    if (t.x.shape()[d] == 1 && sizes.at(t.labels[d]) != 1) {
      t.x = squeezed(t.x, d);
      t.labels.erase(t.labels.begin() + d);
    }
  for (size_t d = 0; d < t.labels.size(); ++d)
    for (size_t other = t.labels.size(); --other > d;) {
      if (t.labels[other] != t.labels[d])
        continue;
      // [..., s, s, ...] flattened to [..., s * s, ...], with stride s + 1
      t.x = moved(t.x, other, d + 1);
      t.labels.erase(t.labels.begin() + other);
      Shape shape = shapeOf(t.x);
      const int64_t size = shape[d];
      shape[d] *= size;
      shape.erase(shape.begin() + d + 1);
      t.x = t.x.reshape(shape);
      t.x = size ? part(t.x, d, 0, size, size + 1) : t.x;
    }
  return t;
}

/// Sums over labels that are not needed.
Term summed(Term t, const std::set<Label> &needed) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [d, label] : llvm::enumerate(t.labels))
    if (needed.count(label))
      kept.push_back(label);
    else
      axes.push_back(d);
  if (!axes.empty())
    t.x = t.x.sum(axes);
  return {t.x, kept};
}

/// Transposes to the order of `labels`, with dimensions of 1 for missing ones.
Expr arranged(const Term &t, const Labels &labels) {
  std::vector<int64_t> perm;
  Shape shape;
  for (Label label : labels) {
    const bool there = has(t.labels, label);
    if (there)
      perm.push_back(placeOf(t.labels, label));
    shape.push_back(there ? t.x.shape()[perm.back()] : 1);
  }
  return transposed(t.x, perm).reshape(shape);
}

/// Labels of a product by role.
struct Letters {
  Labels batch, left, right, sum;
};
Letters lettersOf(const Term &a, const Term &b, const std::set<Label> &needed) {
  Letters r;
  for (Label label : a.labels)
    if (!has(b.labels, label))
      r.left.push_back(label);
    else
      (needed.count(label) ? r.batch : r.sum).push_back(label);
  for (Label label : b.labels)
    if (!has(a.labels, label))
      r.right.push_back(label);
  return r;
}

Labels operator+(Labels a, const Labels &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t countOf(const Labels &labels, const Sizes &sizes) {
  int64_t count = 1;
  for (Label label : labels)
    count *= sizes.at(label);
  return count;
}

/// A matrix product [batch, left, sum] by [batch, sum, right].
FailureOr<Term> matrixProduct(const Node &n, const Term &a, const Term &b,
                              const Letters &r, const Sizes &sizes) {
  const Labels labels = r.batch + r.left + r.right;
  Shape shape;
  for (Label label : labels)
    shape.push_back(sizes.at(label));
  DLC_CHECK(checkFits(n, shape, "a product of Einsum"));
  const int64_t batch = countOf(r.batch, sizes), left = countOf(r.left, sizes),
                right = countOf(r.right, sizes), sum = countOf(r.sum, sizes);
  Expr x = arranged(a, r.batch + r.left + r.sum);
  Expr y = arranged(b, r.batch + r.sum + r.right);
  auto shaped = [&](Expr e, int64_t rows, int64_t columns) {
    return r.batch.empty() ? e.reshape({rows, columns})
                           : e.reshape({batch, rows, columns});
  };
  Expr z = matmul(shaped(x, left, sum), shaped(y, sum, right));
  return Term{z.reshape(shape), labels};
}

/// Elementwise product and sum, for integers and products without a sum.
FailureOr<Term> plainProduct(const Node &n, const Term &a, const Term &b,
                             const Letters &r, const Sizes &sizes) {
  const Labels kept = r.batch + r.left + r.right, all = kept + r.sum;
  Shape shape;
  for (Label label : all)
    shape.push_back(sizes.at(label));
  DLC_CHECK(checkFits(n, shape, "a product of Einsum",
                      r.sum.empty() ? int64_t(1) << 40 : kMostTerms));
  Expr z = arranged(a, all) * arranged(b, all);
  if (!r.sum.empty())
    z = z.sum(ir::axesBetween(kept.size(), all.size()));
  return Term{z, kept};
}

FailureOr<Term> multiplied(const Node &n, const Term &a, const Term &b,
                           const std::set<Label> &needed, const Sizes &sizes) {
  const Letters r = lettersOf(a, b, needed);
  const bool isFloat = isa<FloatType>(a.x.element());
  if (r.sum.empty() || !isFloat)
    return plainProduct(n, a, b, r, sizes);
  return matrixProduct(n, a, b, r, sizes);
}

LogicalResult einsum(const Node &n) {
  std::vector<Expr> operands;
  for (size_t i = 0; i < n.inputs(); ++i) {
    DLC_GET(auto x, input(n, i));
    operands.push_back(x);
  }
  DLC_GET(auto equation, parse(n, operands));
  DLC_GET(auto sizes, sizesOf(n, equation, operands));
  std::vector<Term> terms;
  for (auto [x, labels] : llvm::zip_equal(operands, equation.operands))
    terms.push_back(distinct(x, labels, sizes));
  // Labels that the result and the remaining operands need.
  std::set<Label> own(equation.result.begin(), equation.result.end());
  std::vector<std::set<Label>> needed(terms.size(), own);
  for (size_t i = terms.size() - 1; i-- > 0;) {
    needed[i] = needed[i + 1];
    needed[i].insert(terms[i + 1].labels.begin(), terms[i + 1].labels.end());
  }
  std::set<Label> others = needed[0];
  Term product = summed(terms[0], others);
  for (size_t i = 1; i < terms.size(); ++i) {
    std::set<Label> here = needed[i];
    here.insert(product.labels.begin(), product.labels.end());
    DLC_GET(product,
            multiplied(n, product, summed(terms[i], here), needed[i], sizes));
  }
  Shape shape;
  for (Label label : equation.result)
    shape.push_back(sizes.at(label));
  DLC_CHECK(checkFits(n, shape, "the result"));
  return n.result(
      arranged(summed(product, own), equation.result).broadcast(shape));
}

} // namespace

void addEinsumRows(Rows &rows) { rows["Einsum"] = einsum; }

} // namespace dlc::import
