// SPDX-License-Identifier: Apache-2.0
// libFuzzer: HLO protos. What reads obeys the verifier, is written and reads back as the same text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/verify.h"
#include "frontend/hlo_proto.h"
#include "text/print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braze;
  auto s = read_any_hlo(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!s.ok()) return 0;
  if (!verify(*s->module).ok()) std::abort();
  auto bytes = write_hlo_module_proto(*s->module);
  if (!bytes.ok()) return 0;
  auto back = read_hlo_module_proto(*bytes);
  if (!back.ok() || print_hlo(**back) != print_hlo(*s->module)) std::abort();
  return 0;
}
