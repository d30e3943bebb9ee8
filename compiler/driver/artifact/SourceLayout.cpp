// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/SourceLayout.h"
#include "runtime/base/Json.h"

namespace dlc {
namespace {

Result<int64_t> integer(const Json &value, const std::string &tensor) {
  if (!value.is_number_integer())
    return corrupt("layout.json: '{}' has a number that is no integer", tensor);
  return value.get<int64_t>();
}

Result<std::vector<int64_t>> integers(const Json &entry, const char *key,
                                      const std::string &tensor) {
  auto list = entry.find(key);
  if (list == entry.end() || !list->is_array())
    return corrupt("layout.json: '{}' has no list '{}'", tensor, key);
  std::vector<int64_t> numbers;
  for (const Json &value : *list) {
    DLC_ASSIGN(int64_t number, integer(value, tensor));
    numbers.push_back(number);
  }
  return numbers;
}

Result<import::Replaced::Piece> parsePiece(const Json &entry,
                                           const std::string &tensor) {
  if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string())
    return corrupt("layout.json: '{}' has a part that is no name and two "
                   "numbers",
                   tensor);
  DLC_ASSIGN(int64_t first, integer(entry[1], tensor));
  DLC_ASSIGN(int64_t count, integer(entry[2], tensor));
  return import::Replaced::Piece{entry[0].get<std::string>(), first, count, {}};
}

} // namespace

std::string layoutJson(const std::vector<import::Replaced> &layout) {
  Json json = Json::array();
  for (const import::Replaced &r : layout) {
    Json pieces = Json::array();
    for (const auto &piece : r.pieces)
      pieces.push_back({piece.tensor, piece.first, piece.count});
    json.push_back({{"tensor", r.name},
                    {"shape", r.shape},
                    {"from", r.from},
                    {"perm", r.perm},
                    {"pieces", pieces}});
  }
  return dumpJson(json) + "\n";
}

Result<std::vector<import::Replaced>> parseLayout(std::string_view text) {
  DLC_ASSIGN(Json json, parseJson(text));
  if (!json.is_array())
    return corrupt("layout.json: expected a list");
  std::vector<import::Replaced> layout;
  for (const Json &entry : json) {
    import::Replaced r;
    DLC_ASSIGN(r.name, jsonString(entry, "tensor"));
    DLC_ASSIGN(r.shape, integers(entry, "shape", r.name));
    DLC_ASSIGN(r.from, integers(entry, "from", r.name));
    DLC_ASSIGN(r.perm, integers(entry, "perm", r.name));
    auto pieces = entry.find("pieces");
    if (pieces == entry.end() || !pieces->is_array())
      return corrupt("layout.json: '{}' has no list 'pieces'", r.name);
    for (const Json &piece : *pieces) {
      DLC_ASSIGN(auto parsed, parsePiece(piece, r.name));
      r.pieces.push_back(std::move(parsed));
    }
    layout.push_back(std::move(r));
  }
  return layout;
}

Status addSourceTensors(const std::vector<import::Replaced> &layout,
                        exporter::Tensors &tensors,
                        std::deque<std::string> &buffers) {
  auto find = [&](const std::string &name) -> std::optional<import::Weight> {
    auto it = tensors.find(name);
    if (it == tensors.end())
      return std::nullopt;
    return import::Weight{
        it->second.dtype, {}, it->second.data, it->second.bytes};
  };
  exporter::Tensors made;
  for (const import::Replaced &r : layout) {
    DLC_ASSIGN(import::Gathered contents, import::gather(r, find));
    const std::string &bytes = buffers.emplace_back(std::move(contents.bytes));
    made[r.name] = {contents.dtype, r.shape, bytes.data(), bytes.size()};
  }
  tensors.merge(made);
  return {};
}

} // namespace dlc
