// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors, which the product's classes do not have: those are
// made for small programs.
#pragma once

#include <google/protobuf/dynamic_message.h>

#include <string>

namespace dlc::fuzz {

// One type of a file of descriptors, which the build writes from the .proto;
// it must outlive its messages.
class Prototype {
public:
  Prototype(const std::string &descriptors, const std::string &type);

  // Null if there is no such file or type.
  const google::protobuf::Message *get() const { return message_; }
  // A message of that type; what does not parse is left out.
  std::unique_ptr<google::protobuf::Message>
  parse(const std::string &bytes) const;

private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
  const google::protobuf::Message *message_ = nullptr;
};

} // namespace dlc::fuzz
