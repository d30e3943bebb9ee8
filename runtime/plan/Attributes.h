// SPDX-License-Identifier: Apache-2.0
// Attributes of a plan command by name; missing ones have the given default.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

namespace dlc::plan {

inline const Attribute *findAttribute(const Command &command,
                                      std::string_view name) {
  for (const Attribute &attribute : command.attributes())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

inline int64_t intAttribute(const Command &command, std::string_view name,
                            int64_t absent) {
  const Attribute *attribute = findAttribute(command, name);
  return attribute ? attribute->i() : absent;
}

inline double floatAttribute(const Command &command, std::string_view name,
                             double absent) {
  const Attribute *attribute = findAttribute(command, name);
  return attribute ? attribute->f() : absent;
}

inline std::string stringAttribute(const Command &command,
                                   std::string_view name,
                                   std::string_view absent) {
  const Attribute *attribute = findAttribute(command, name);
  return attribute ? attribute->s() : std::string(absent);
}

inline std::vector<int64_t> intsAttribute(const Command &command,
                                          std::string_view name,
                                          std::vector<int64_t> absent = {}) {
  const Attribute *attribute = findAttribute(command, name);
  if (!attribute)
    return absent;
  return {attribute->ints().values().begin(), attribute->ints().values().end()};
}

// Equal values of one kind give equal texts, which are part of cache keys.
inline std::string valueText(const Attribute &attribute) {
  switch (attribute.value_case()) {
  case Attribute::kI:
    return fmt::format("i {}", attribute.i());
  case Attribute::kF:
    return fmt::format("f {}", attribute.f());
  case Attribute::kS:
    return "s " + attribute.s();
  case Attribute::kInts:
    return fmt::format("ints {}", fmt::join(attribute.ints().values(), " "));
  case Attribute::VALUE_NOT_SET:
    return "";
  }
  return "";
}

// Whether it starts a copy to or from the memory of the host, or waits for one.
inline bool copiesBesideCommands(const Command &command) {
  return command.kind() == "offload" || command.kind() == "fetch" ||
         command.kind() == "wait_copy";
}

// "conv 'node_1'", for messages; the symbol for a kernel without node.
inline std::string describe(const Command &command) {
  const std::string &name = command.label().empty()
                                ? stringAttribute(command, "symbol", "")
                                : command.label();
  return command.kind() + " '" + name + "'";
}

} // namespace dlc::plan
