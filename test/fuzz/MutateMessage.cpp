// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Mutate.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace dlc::fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Fields = std::vector<const FieldDescriptor *>;

class MessageMutator {
public:
  MessageMutator(Random &random, Message &root, const Message &donor)
      : random_(random) {
    collect(root, messages_);
    collect(donor, donors_);
  }

  void run() {
    // Nodes and tensors are many, what holds them is one: both get a share.
    Message *message = const_cast<Message *>(
        messages_[random_.oneIn(4)
                      ? random_.below(std::min<size_t>(messages_.size(), 4))
                      : random_.below(messages_.size())]);
    Fields fields;
    message->GetReflection()->ListFields(*message, &fields);
    const Descriptor *type = message->GetDescriptor();
    if (fields.empty() || random_.oneIn(6)) { // one that is not set, too
      if (type->field_count() == 0)
        return;
      fields = {type->field(static_cast<int>(
          random_.below(static_cast<uint64_t>(type->field_count()))))};
    }
    const FieldDescriptor *field = random_.pick(fields);
    if (field->is_repeated())
      mutateList(*message, field);
    else if (field->message_type())
      mutatePart(*message, field);
    else
      mutateValue(*message, field, -1);
  }

private:
  using Messages = std::vector<const Message *>;

  void collect(const Message &message, Messages &into) {
    into.push_back(&message);
    const Reflection &r = *message.GetReflection();
    Fields fields;
    r.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        collectTexts(message, field);
      if (!field->message_type())
        continue;
      if (!field->is_repeated())
        collect(r.GetMessage(message, field), into);
      for (int i = 0; field->is_repeated() && i < r.FieldSize(message, field);
           ++i)
        collect(r.GetRepeatedMessage(message, field, i), into);
    }
  }

  void collectTexts(const Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    const auto add = [&](std::string text) {
      if (text.size() < 100)
        texts_.push_back(std::move(text));
    };
    if (!field->is_repeated())
      return add(r.GetString(message, field));
    for (int i = 0; i < r.FieldSize(message, field); ++i)
      add(r.GetRepeatedString(message, field, i));
  }

  void mutateList(Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    const int size = r.FieldSize(message, field);
    const auto any = [&] {
      return static_cast<int>(random_.below(static_cast<uint64_t>(size)));
    };
    const uint64_t action = random_.below(8);
    if (size == 0 || action == 0) {
      append(message, field);
    } else if (action == 1) {
      r.SwapElements(&message, field, any(), any());
    } else if (action == 2) {
      r.SwapElements(&message, field, any(), size - 1);
      r.RemoveLast(&message, field);
    } else if (action == 3 && field->message_type()) { // doubled
      const int from = any();
      Message *copy = r.AddMessage(&message, field);
      copy->CopyFrom(r.GetRepeatedMessage(message, field, from));
    } else if (action == 4 && random_.oneIn(4)) {
      r.ClearField(&message, field);
    } else if (field->message_type()) {
      const int at = any();
      const auto copy = another(r.GetRepeatedMessage(message, field, at));
      r.MutableRepeatedMessage(&message, field, at)->CopyFrom(*copy);
    } else {
      mutateValue(message, field, any());
    }
  }

  void append(Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const auto copy =
          another(*r.GetMessageFactory()->GetPrototype(field->message_type()));
      r.AddMessage(&message, field)->CopyFrom(*copy);
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return r.AddString(&message, field, text(""));
    case FieldDescriptor::CPPTYPE_INT64:
      return r.AddInt64(&message, field, strangeInteger(random_, 1));
    case FieldDescriptor::CPPTYPE_INT32:
      return r.AddInt32(&message, field,
                        static_cast<int32_t>(strangeInteger(random_, 1)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.AddUInt32(&message, field,
                         static_cast<uint32_t>(strangeInteger(random_, 1)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.AddFloat(&message, field,
                        static_cast<float>(strangeFloat(random_)));
    default:
      return;
    }
  }

  // A copy of one of the type from anywhere; empty if there is none. Taken
  // before anything changes, which may end the life of the original.
  std::unique_ptr<Message> another(const Message &prototype) {
    Messages same;
    for (const Messages *list : {&messages_, &donors_})
      for (const Message *other : *list)
        if (other->GetDescriptor() == prototype.GetDescriptor())
          same.push_back(other);
    std::unique_ptr<Message> copy(prototype.New());
    if (!same.empty())
      copy->CopyFrom(*random_.pick(same));
    return copy;
  }

  void mutatePart(Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    if (random_.oneIn(2)) {
      r.ClearField(&message, field);
    } else {
      const auto copy = another(r.GetMessage(message, field));
      r.MutableMessage(&message, field)->CopyFrom(*copy);
    }
  }

  std::string text(const std::string &old) {
    return texts_.empty() || random_.oneIn(3) ? strangeText(random_, old)
                                              : random_.pick(texts_);
  }

  // Of a list, the element `at`.
  void mutateValue(Message &message, const FieldDescriptor *field, int at) {
    const Reflection &r = *message.GetReflection();
    if (at < 0 && random_.oneIn(8))
      return r.ClearField(&message, field);
#define DLC_CHANGE(Type, expression)                                           \
  {                                                                            \
    [[maybe_unused]] const auto old =                                          \
        at < 0 ? r.Get##Type(message, field)                                   \
               : r.GetRepeated##Type(message, field, at);                      \
    const auto value = expression;                                             \
    return at < 0 ? r.Set##Type(&message, field, value)                        \
                  : r.SetRepeated##Type(&message, field, at, value);           \
  }
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      DLC_CHANGE(Int32, static_cast<int32_t>(strangeInteger(random_, old)))
    case FieldDescriptor::CPPTYPE_INT64:
      DLC_CHANGE(Int64, strangeInteger(random_, old))
    case FieldDescriptor::CPPTYPE_UINT32:
      DLC_CHANGE(UInt32, static_cast<uint32_t>(strangeInteger(random_, old)))
    case FieldDescriptor::CPPTYPE_UINT64:
      DLC_CHANGE(UInt64, static_cast<uint64_t>(strangeInteger(
                             random_, static_cast<int64_t>(old))))
    case FieldDescriptor::CPPTYPE_FLOAT:
      DLC_CHANGE(Float, static_cast<float>(strangeFloat(random_)))
    case FieldDescriptor::CPPTYPE_DOUBLE:
      DLC_CHANGE(Double, strangeFloat(random_))
    case FieldDescriptor::CPPTYPE_BOOL:
      DLC_CHANGE(Bool, !old)
    case FieldDescriptor::CPPTYPE_ENUM:
      DLC_CHANGE(EnumValue,
                 random_.oneIn(8)
                     ? old + 1000
                     : field->enum_type()
                           ->value(static_cast<int>(
                               random_.below(static_cast<uint64_t>(
                                   field->enum_type()->value_count()))))
                           ->number())
    case FieldDescriptor::CPPTYPE_STRING:
      DLC_CHANGE(String, text(old))
    default:
      return;
    }
#undef DLC_CHANGE
  }

  Random &random_;
  Messages messages_, donors_;
  std::vector<std::string> texts_;
};

} // namespace

void mutateMessage(Random &random, Message &message, const Message &donor) {
  MessageMutator(random, message, donor).run();
}

} // namespace dlc::fuzz
