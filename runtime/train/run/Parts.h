// SPDX-License-Identifier: Apache-2.0
// A checkpoint to which each rank contributes a part.
//
// Rank 0 leads: it announces a folder, which all hosts must see; each rank
// writes and syncs its file there and reports the result; then rank 0 makes the
// folder a checkpoint. So a complete checkpoint has all its parts, and if a
// rank dies at any time, the previous one remains.
#pragma once

#include "runtime/base/numbers/Hash.h"
#include "runtime/collective/Communicator.h"
#include "runtime/train/session/State.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dlc {

// Used by one thread at a time, on all ranks. Waits for other ranks as long as
// they are alive.
class Parts {
public:
  // `ranks` is used exclusively, since checkpoints are written concurrently
  // with steps. Code::Failed, on all ranks, if one of them does not see what
  // rank 0 created in the folder `run`.
  static Result<std::unique_ptr<Parts>> create(const std::string &run,
                                               Communicator &communicator);

  Share share() const { return {ranks_->rank(), ranks_->size()}; }

  // Writes and syncs this rank's part to a new file.
  using Writer = std::function<Result<FileDigest>(const std::string &path)>;

  // On rank 0, any number of times before end(). Returns the parts by their
  // names in `folder`, else the error of the lowest rank that has one, with its
  // number.
  Result<std::map<std::string, FileDigest>> write(const std::string &folder,
                                                  const Writer &own);
  Status end();
  // On the other ranks: serves all calls of write() until end().
  Status follow(const Writer &own);

private:
  explicit Parts(std::unique_ptr<Communicator> ranks)
      : ranks_(std::move(ranks)) {}
  std::string attempt(const std::string &folder, const Writer &own) const;

  const std::unique_ptr<Communicator> ranks_;
};

} // namespace dlc
