// SIGINT and SIGTERM as a request to stop, while one of these lives.
#pragma once

namespace dlc {

class StopSignals {
public:
  StopSignals();
  ~StopSignals(); // earlier handlers come back
  StopSignals(const StopSignals &) = delete;

  int caught() const; // the first signal that came, or 0
};

} // namespace dlc
