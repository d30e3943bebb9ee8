// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Custom.h"

#include "runtime/device/commands/Checks.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>

namespace dlc {

// The C interface uses the plan's numbers for types.
static_assert(DLC_OP_F32 == int(plan::F32) && DLC_OP_F16 == int(plan::F16) &&
              DLC_OP_BF16 == int(plan::BF16) && DLC_OP_F64 == int(plan::F64) &&
              DLC_OP_I64 == int(plan::I64) && DLC_OP_I32 == int(plan::I32) &&
              DLC_OP_U8 == int(plan::U8) && DLC_OP_BOOL == int(plan::BOOL));

static Result<std::vector<dlc_op_tensor>>
tensorsOf(const CommandSpec &spec, const std::vector<Operand> &operands) {
  std::vector<dlc_op_tensor> tensors;
  for (const Operand &operand : operands) {
    const Shape shape = shapeOf(operand);
    if (shape.size() > DLC_OP_RANK)
      return corrupt(spec, fmt::format("rank is {}, expected at most {}",
                                       shape.size(), DLC_OP_RANK));
    dlc_op_tensor &t = tensors.emplace_back();
    t.type = typeOf(operand);
    t.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), t.shape);
    t.data = operand.data;
  }
  return tensors;
}

Result<CustomCall> CustomCall::make(const CommandSpec &spec,
                                    std::string_view device,
                                    OpLibraries &libraries) {
  auto text = [&](const char *name) {
    return plan::stringAttribute(spec.command, name, "");
  };
  CustomCall made;
  made.name_ = describe(spec);
  auto library = libraries.get(text("library"));
  if (!library)
    return library.status().withContext(made.name_);
  const std::string domain = text("domain"), name = text("op");
  const dlc_op *op = (*library)->find(domain, name);
  if (!op)
    return corrupt(spec, fmt::format("'{}' has no operator '{}.{}'",
                                     text("library"), domain, name));
  const bool isBackward = plan::intAttribute(spec.command, "backward", 0);
  const dlc_op_code *code = codeFor(*op, device);
  made.function_ = !code        ? nullptr
                   : isBackward ? code->backward
                                : code->forward;
  if (!made.function_)
    return incompatible(spec, fmt::format("'{}' has no {} of '{}.{}' for {}",
                                          text("library"),
                                          isBackward ? "backward" : "forward",
                                          domain, name, device));
  auto call = OpCall::make(text("arguments"));
  if (!call)
    return corrupt(spec, call.status().message());
  made.call_ = std::move(*call);
  DLC_ASSIGN(made.call_.inputs, tensorsOf(spec, spec.inputs));
  DLC_ASSIGN(made.call_.outputs, tensorsOf(spec, spec.outputs));
  return made;
}

} // namespace dlc
