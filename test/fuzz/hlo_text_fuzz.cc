// SPDX-License-Identifier: Apache-2.0
// libFuzzer: HLO text. What reads obeys the verifier, prints, reads back and prints the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/verify.h"
#include "text/dot.h"
#include "text/parse.h"
#include "text/print.h"
#include "text/stablehlo_print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braze;
  auto m = parse_hlo(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!m.ok()) return 0;
  if (!verify(**m).ok()) std::abort();
  for (const PrintOptions& style : {PrintOptions::short_form(), PrintOptions::long_form()}) {
    std::string once = print_hlo(**m, style);
    auto back = parse_hlo(once);
    if (!back.ok() || print_hlo(**back, style) != once) std::abort();
  }
  (void)print_hlo(**m, PrintOptions::for_hash());
  (void)print_stablehlo(**m);
  (void)print_html(**m);
  return 0;
}
