// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/Unigram.h"

#include "runtime/base/Text.h"
#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr double kUnknownPenalty = 10;

// The best way to a place in the text.
struct UnigramStep {
  double score = 0;
  int64_t from = -1; // below 0: none was found yet
  uint32_t id = 0;
};

} // namespace

Result<Unigram> Unigram::create(std::vector<Token> vocabulary,
                                std::optional<uint32_t> unknown, bool byBytes) {
  if (!unknown)
    return failed("its model has no 'unk_id', for text that is in no token");
  if (*unknown >= vocabulary.size())
    return failed("its model's 'unk_id' is {}, of {} tokens", *unknown,
                  vocabulary.size());
  Unigram model;
  model.unknown_ = *unknown;
  model.byBytes_ = byBytes;
  double least = INFINITY;
  std::vector<std::pair<std::string_view, uint32_t>> texts;
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    const Token &token = vocabulary[id];
    if (!std::isfinite(token.score))
      return failed("its vocabulary has '{}' with the score {}",
                    printable(token.text, 60), token.score);
    least = std::min(least, token.score);
    model.scores_.push_back(token.score);
    model.ids_[token.text] = id;
    if (!token.text.empty())
      texts.emplace_back(token.text, id);
  }
  model.unknownScore_ = least - kUnknownPenalty;
  std::stable_sort(texts.begin(), texts.end(),
                   [](auto &a, auto &b) { return a.first < b.first; });
  model.buildTrie(texts);
  for (unsigned byte = 0; byte < 256; ++byte)
    if (const auto found = model.ids_.find(fmt::format("<0x{:02X}>", byte));
        found != model.ids_.end())
      model.byteIds_[byte] = found->second;
  return model;
}

// Level by level, so that a node's edges lie side by side: a node is those of
// the sorted texts that begin with its text.
void Unigram::buildTrie(
    const std::vector<std::pair<std::string_view, uint32_t>> &texts) {
  struct Group {
    size_t first, last, depth;
  };
  std::vector<Group> groups = {{0, texts.size(), 0}};
  nodes_.emplace_back();
  for (size_t at = 0; at < groups.size(); ++at) {
    const auto [first, last, depth] = groups[at];
    nodes_[at].firstEdge = uint32_t(edges_.size());
    for (size_t i = first; i < last;) {
      if (texts[i].first.size() == depth) {
        nodes_[at].id = texts[i++].second;
        continue;
      }
      const char byte = texts[i].first[depth];
      size_t end = i;
      while (end < last && texts[end].first[depth] == byte)
        ++end;
      edges_.emplace_back(uint8_t(byte), uint32_t(nodes_.size()));
      nodes_.emplace_back();
      groups.push_back({i, end, depth + 1});
      i = end;
    }
    nodes_[at].edges = uint32_t(edges_.size()) - nodes_[at].firstEdge;
  }
}

const Unigram::Node *Unigram::child(const Node &node, char byte) const {
  const auto begin = edges_.begin() + node.firstEdge, end = begin + node.edges;
  const auto found = std::lower_bound(
      begin, end, uint8_t(byte),
      [](const auto &edge, uint8_t to) { return edge.first < to; });
  return found == end || found->first != uint8_t(byte) ? nullptr
                                                       : &nodes_[found->second];
}

void Unigram::encode(std::string_view text,
                     std::vector<uint32_t> &tokens) const {
  std::vector<UnigramStep> best(text.size() + 1);
  const auto consider = [&](size_t from, size_t to, double score, uint32_t id) {
    const double sum = score + best[from].score;
    if (best[to].from < 0 || sum > best[to].score)
      best[to] = {sum, int64_t(from), id};
  };
  for (size_t at = 0; at < text.size();) {
    const size_t size =
        std::max<size_t>(firstChar(text.substr(at)).bytes, size_t(1));
    bool isKnown = false; // the character alone
    const Node *node = nodes_.data();
    for (size_t end = at; end < text.size();) {
      node = child(*node, text[end++]);
      if (!node)
        break;
      if (node->id < 0)
        continue;
      consider(at, end, scores_[size_t(node->id)], uint32_t(node->id));
      isKnown |= end == at + size;
    }
    if (!isKnown)
      consider(at, at + size, unknownScore_, unknown_);
    at += size;
  }
  // Backwards: {begin, end}, unknown ones that touch as one.
  std::vector<std::pair<size_t, size_t>> pieces;
  bool wasUnknown = false;
  for (size_t end = text.size(); end > 0;) {
    const UnigramStep &step = best[end];
    const bool isUnknown = step.id == unknown_;
    if (isUnknown && wasUnknown)
      pieces.back().first = size_t(step.from);
    else
      pieces.emplace_back(size_t(step.from), end);
    wasUnknown = isUnknown;
    end = size_t(step.from);
  }
  thread_local std::string key;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    key.assign(text.substr(piece->first, piece->second - piece->first));
    if (const auto found = ids_.find(key); found != ids_.end())
      tokens.push_back(found->second);
    else
      appendUnknown(key, tokens);
  }
}

void Unigram::appendUnknown(std::string_view text,
                            std::vector<uint32_t> &tokens) const {
  const auto isKnown = [&](char c) { return byteIds_[uint8_t(c)].has_value(); };
  if (!byBytes_ || !std::all_of(text.begin(), text.end(), isKnown))
    return tokens.push_back(unknown_);
  for (const char c : text)
    tokens.push_back(*byteIds_[uint8_t(c)]);
}

} // namespace dlc
