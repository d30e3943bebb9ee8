// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Protocol.h"

#include <algorithm>
#include <cstring>

namespace dlc::store {
namespace {

// The payload of a query, in order: 4: u32, 8: i64, k: key, v: value, t: token,
// K: keys, P: pairs of key and value.
struct Form {
  Query query;
  const char *parts;
};
constexpr Form kForms[] = {
    {Query::Validate, "4"},  {Query::Set, "kv"},     {Query::CompareSet, "kvv"},
    {Query::Get, "k"},       {Query::Add, "k8"},     {Query::Check, "K"},
    {Query::Wait, "K"},      {Query::Count, ""},     {Query::Erase, "k"},
    {Query::Append, "kv"},   {Query::MultiGet, "K"}, {Query::MultiSet, "P"},
    {Query::CancelWait, ""}, {Query::Ping, "4"},     {Query::Hello, "4t"},
    {Query::Watch, ""},      {Query::Farewell, ""},  {Query::Beat, "8"},
    {Query::Ask, ""},        {Query::Places, ""},    {Query::Accuse, "4"},
    {Query::Miss, "4"},      {Query::Swap, "kvv"},
};

const char *partsOf(Query query) {
  const auto *form =
      std::find_if(std::begin(kForms), std::end(kForms),
                   [&](const Form &f) { return f.query == query; });
  return form == std::end(kForms) ? nullptr : form->parts;
}

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Parsed state = Parsed::Whole; // of the first incomplete or invalid field
  size_t read = 0;

  template <class T> T number() {
    T value{};
    if (take(sizeof value))
      std::memcpy(&value, bytes_.data() + read - sizeof value, sizeof value);
    return value;
  }

  std::string text(uint64_t limit) {
    const uint64_t size = number<uint64_t>();
    if (size > limit)
      fail(Parsed::Hostile);
    return take(size) ? std::string(bytes_.substr(read - size, size)) : "";
  }

  uint64_t count() {
    const uint64_t count = number<uint64_t>();
    if (count > Limits::kKeys)
      fail(Parsed::Hostile);
    return ok() ? count : 0;
  }

  bool ok() const { return state == Parsed::Whole; }

private:
  bool take(uint64_t size) {
    if (ok() && size > Limits::kMessage - read)
      fail(Parsed::Hostile);
    if (ok() && size > bytes_.size() - read)
      fail(Parsed::Partial);
    read += ok() ? size : 0;
    return ok();
  }
  void fail(Parsed why) { state = ok() ? why : state; }

  const std::string_view bytes_;
};

void readPart(Reader &reader, char part, Message &message) {
  const auto key = [&] { message.keys.push_back(reader.text(Limits::kKey)); };
  const auto value = [&](uint64_t limit) {
    message.values.push_back(reader.text(limit));
  };
  if (part == '4')
    message.number = reader.number<uint32_t>();
  else if (part == '8')
    message.number = reader.number<int64_t>();
  else if (part == 'k')
    key();
  else if (part == 'v')
    value(Limits::kValue);
  else if (part == 't')
    value(Limits::kToken);
  else
    for (uint64_t left = reader.count(); left > 0 && reader.ok(); --left) {
      key();
      if (part == 'P')
        value(Limits::kValue);
    }
}

class Writer {
public:
  std::string bytes;

  template <class T> void number(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(const std::string &value) {
    number<uint64_t>(value.size());
    bytes += value;
  }
};

} // namespace

Parsed parse(std::string_view bytes, Message &message, size_t &length) {
  Reader reader(bytes);
  message = {static_cast<Query>(reader.number<uint8_t>()), {}, {}, 0};
  if (!reader.ok())
    return reader.state;
  const char *parts = partsOf(message.query);
  if (!parts)
    return Parsed::Hostile;
  for (; *parts; ++parts)
    readPart(reader, *parts, message);
  length = reader.read;
  return reader.state;
}

std::string textOf(const Message &message) {
  Writer writer;
  writer.number(static_cast<uint8_t>(message.query));
  auto key = message.keys.begin(), value = message.values.begin();
  for (const char *part = partsOf(message.query); *part; ++part) {
    if (*part == '4')
      writer.number(static_cast<uint32_t>(message.number));
    else if (*part == '8')
      writer.number(message.number);
    else if (*part == 'k')
      writer.text(*key++);
    else if (*part == 'v' || *part == 't')
      writer.text(*value++);
    else
      for (writer.number<uint64_t>(message.keys.size());
           key != message.keys.end(); ++key) {
        writer.text(*key);
        if (*part == 'P')
          writer.text(*value++);
      }
  }
  return writer.bytes;
}

} // namespace dlc::store
