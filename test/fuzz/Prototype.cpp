// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Prototype.h"

#include "runtime/base/files/Files.h"

#include <google/protobuf/descriptor.pb.h>

namespace dlc::fuzz {

using namespace google::protobuf;

Prototype::Prototype(const std::string &descriptors, const std::string &type) {
  auto text = readFile(descriptors, 1 << 20);
  FileDescriptorSet files;
  if (!text || !files.ParseFromString(*text))
    return;
  for (const FileDescriptorProto &file : files.file())
    pool_.BuildFile(file);
  if (const Descriptor *found = pool_.FindMessageTypeByName(type))
    message_ = factory_.GetPrototype(found);
}

std::unique_ptr<Message> Prototype::parse(const std::string &bytes) const {
  std::unique_ptr<Message> message(message_->New());
  message->ParsePartialFromString(bytes);
  return message;
}

} // namespace dlc::fuzz
