// SPDX-License-Identifier: Apache-2.0
// A run's numbers over HTTP, for Prometheus to scrape.
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <memory>
#include <string>

namespace dlc {

// Answers GET and HEAD of /metrics with `text()`, all else with 404, 405, 431
// or 400, and closes; HTTP/1.0 and 1.1. One thread and bounded memory, whoever
// asks: at most 16 connections (another one ends the oldest), 8 KiB of request,
// 5 s a connection, 50 answers a second.
class MetricsServer {
public:
  // `host` is an address of this machine in digits, or "localhost"; port 0: a
  // free one. `text` is called by the server's thread. Usage for another host,
  // Failed if it cannot listen.
  static Result<std::unique_ptr<MetricsServer>>
  open(const std::string &host, int port, std::function<std::string()> text);
  ~MetricsServer();

  int port() const;

private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc
