// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/Page.h"

namespace dlc::tool {
namespace {

// Files that the build converts to strings (CMakeLists.txt).
const char kStyle[] =
#include "page.css.inc"
    ;
const char kScript[] =
#include "page.js.inc"
    ;
const char kChartJs[] =
#include "chart.js.inc"
    ;

constexpr char
    kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>dlc report</title>
<style>)",
    kBody[] = R"(</style></head><body><h1>dlc report</h1><main id="main"></main>
<script id="data" type="application/json">)";

// JSON in which no text can close the enclosing HTML element.
std::string asElement(const Json &data) {
  std::string text;
  for (const char c : dumpJson(data, -1, true))
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

} // namespace

std::string reportPage(const Json &data) {
  return fmt::format("{}{}{}{}</script>\n<script>{}</script>\n<script>\n{}"
                     "</script></body></html>\n",
                     kHead, kStyle, kBody, asElement(data), kChartJs, kScript);
}

} // namespace dlc::tool
