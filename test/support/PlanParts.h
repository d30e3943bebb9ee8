// SPDX-License-Identifier: Apache-2.0
// Attributes and ports of hand-written plans.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <string>

namespace dlc::test {

struct PlanParts {
  static void set(plan::Command &command, const std::string &name, int64_t i) {
    plan::Attribute &attribute = *command.add_attributes();
    attribute.set_name(name);
    attribute.set_i(i);
  }
  static void set(plan::Command &command, const std::string &name,
                  const std::string &s) {
    plan::Attribute &attribute = *command.add_attributes();
    attribute.set_name(name);
    attribute.set_s(s);
  }
  // Shards a range of a region; `item` are the bytes of an item.
  static void part(plan::Plan &plan, uint32_t region, uint64_t offset,
                   uint64_t bytes, uint64_t item, int64_t extent) {
    plan::Part &part = *plan.add_parts();
    part.set_region(region);
    part.set_offset(offset);
    part.set_bytes(bytes);
    part.set_item_bytes(item);
    part.set_extent(extent);
  }
  static void port(google::protobuf::RepeatedPtrField<plan::Port> &ports,
                   const std::string &name, uint32_t buffer,
                   int64_t limit = 0) {
    plan::Port &port = *ports.Add();
    port.set_name(name);
    port.set_buffer(buffer);
    port.set_limit(limit);
  }
};

} // namespace dlc::test
