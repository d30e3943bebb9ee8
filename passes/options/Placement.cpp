// Who computes what, on a target that has the choice.
#include "compiler/target/Target.h"
#include "passes/Options.h"

namespace dlc {

void PlacementOptions::addTo(OptionTable &table) {
  auto own = [&](const char *op, Option &row) {
    row.only("model.target", targetsThat([=](const Target &target) {
               return target.chooses(op);
             }));
  };
  own("attention",
      table.choice("model.attention", attention,
                   {"auto", "library", "generated", "off"},
                   "who computes attention as one op: a library, kernels of "
                   "our own, nobody; auto, with --amp: the library where it "
                   "can"));
  own("matmul",
      table.choice("model.matmul", matmul, {"auto", "library", "generated"},
                   "who multiplies matrices of halves; auto: who is predicted "
                   "to be faster"));
  own("matmul-epilogue",
      table.choice("model.matmul-epilogues", epilogues, {"auto", "all", "off"},
                   "what the library does in its products: auto: GELU (tanh), "
                   "its gradient and bias gradients; all: ReLU, too, which "
                   "makes NaN 0, so that the loss may not show that a run "
                   "diverged; off, if a GPU lacks one"));
  own("norm",
      table.choice("model.norm", norm, {"auto", "library", "generated"},
                   "who computes batch and layer norm: the library where it "
                   "can, kernels of our own; auto: generated, nothing is "
                   "measured yet"));
  Option &rules = table.list(
      "model.place", place, "[REGEX:]OP=BY,...",
      "who computes ops, or those of nodes that match, before all of these: "
      "attention, norm, matmul, matmul-epilogue; library, generated, "
      "decomposed into simpler ops; the first that fits counts");
  rules.commas = true;
  rules.set = [this](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(PlaceRule::parse(word).status());
    place = words;
    return {};
  };
  own("matmul", rules);
  table
      .toggle("model.explain-placement", explain,
              "prints who computes what, at which predicted cost, or why not")
      .notKept();
}

} // namespace dlc
