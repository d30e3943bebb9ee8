// SPDX-License-Identifier: Apache-2.0
#include "AttentionKernels.h"
#include "Text.h"
#include "test/device/AttentionCases.h"

namespace dlc::test {
namespace {

std::string attributesOf(const AttentionShape &s) {
  char text[200];
  std::snprintf(text, sizeof text, "{scale = %.17e : f64, layout = \"%s\"%s}",
                s.scale, s.lengthFirst ? "bthd" : "bhtd",
                s.causal ? ", causal" : "");
  return text;
}

constexpr const char *kForward = R"(exec.kernel @forward$S {
^bb0(%q: $Q, %k: $K, %v: $V$D):
  %y, %l = dlc.attention %q, %k, %v$U $A : ($Q, $K, $V$E) -> ($Y, $L)
  dlc.yield %y, %l : $Y, $L
}
)";
constexpr const char *kBackward = R"(exec.kernel @$N$S {
^bb0(%dy: $Y, %q: $Q, %k: $K, %v: $V, %y: $Y, %l: $L$D):
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l$U $A : ($Y, $Q, $K, $V, $Y, $L$E) -> ($Q, $K, $V)
  dlc.yield $R
}
)";

} // namespace

std::string attentionKernels(const AttentionShape &s, const std::string &half,
                             const std::string &mask,
                             const std::string &suffix) {
  const std::string type = tensor({s.mask.begin(), s.mask.end()}, mask);
  const auto kernel = [&](std::string text) {
    return fill(std::move(text),
                {{"$S", suffix},
                 {"$A", attributesOf(s)},
                 {"$D", s.hasMask() ? ", %m: " + type : ""},
                 {"$U", s.hasMask() ? ", %m" : ""},
                 {"$E", s.hasMask() ? ", " + type : ""},
                 {"$Q", tensor(s.rows(s.queries, s.depth), half)},
                 {"$K", tensor(s.rows(s.keys, s.depth), half)},
                 {"$V", tensor(s.rows(s.keys, s.valueDepth), half)},
                 {"$Y", tensor(s.rows(s.queries, s.valueDepth), half)},
                 {"$L", tensor({s.batch, s.heads, s.queries, 1}, "f32")}});
  };
  return kernel(kForward) +
         kernel(fill(kBackward, {{"$N", "queries"}, {"$R", "%a : $Q"}})) +
         kernel(fill(kBackward, {{"$N", "keys"}, {"$R", "%b, %c : $K, $V"}}));
}

PatternModule attentionModule() {
  PatternModule module{"attention", "module {\n", 0};
  const auto add = [&](const AttentionCase &c, const std::string &half,
                       const std::string &mask) {
    const std::string suffix =
        "_" + c.name + "_" + half + (mask == "i1" ? "_seen" : "");
    module.text += attentionKernels(c.shape, half, mask, suffix);
    module.kernels += 3;
  };
  for (const AttentionCase &c : attentionCases()) {
    add(c, "bf16", "f32");
    if (c.name == "oddCausal" || c.name == "maskOddLengths")
      add(c, "f16", "f32");
    if (c.name == "maskOfHeads" || c.name == "maskCausal")
      add(c, "f16", "i1");
  }
  module.text += "}\n";
  return module;
}

} // namespace dlc::test
