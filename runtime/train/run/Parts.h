// SPDX-License-Identifier: Apache-2.0
// A checkpoint of which each rank writes a part.
//
// Rank 0 leads: it says into which folder, which all hosts must see; each rank
// writes its file there and syncs it; all tell how it went. Only then does rank
// 0 make it a checkpoint. So one that is complete has all its parts, and a rank
// that dies at any moment leaves the one before.
#pragma once

#include "runtime/base/numbers/Hash.h"
#include "runtime/collective/Communicator.h"
#include "runtime/train/session/State.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dlc {

// For one thread at a time, on all ranks. It waits for others as long as they
// live.
class Parts {
public:
  // `ranks` is for this alone: a checkpoint may be written beside the steps.
  // Code::Failed, on all ranks, if one does not see what rank 0 has made in the
  // folder `run`.
  static Result<std::unique_ptr<Parts>> create(const std::string &run,
                                               Communicator &communicator);

  Share share() const { return {ranks_->rank(), ranks_->size()}; }

  // Writes and syncs this rank's part as a new file.
  using Writer = std::function<Result<FileDigest>(const std::string &path)>;

  // On rank 0, as often as it wants; then end(). The parts, by their names in
  // `folder`; else the error of the first rank that has one, with its number.
  Result<std::map<std::string, FileDigest>> write(const std::string &folder,
                                                  const Writer &own);
  Status end();
  // On the others, from the first of these to the last.
  Status follow(const Writer &own);

private:
  explicit Parts(std::unique_ptr<Communicator> ranks)
      : ranks_(std::move(ranks)) {}
  std::string attempt(const std::string &folder, const Writer &own) const;

  const std::unique_ptr<Communicator> ranks_;
};

} // namespace dlc
