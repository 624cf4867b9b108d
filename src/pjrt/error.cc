// SPDX-License-Identifier: Apache-2.0
#include "pjrt/error.h"

#include "pjrt/slots.h"

namespace braze::pjrt {
namespace {

void destroy(PJRT_Error* e) { delete e; }
void message(const PJRT_Error* e, const char** text, size_t* size) {
  *text = e->status.message().data();
  *size = e->status.message().size();
}
PJRT_Error_Code code(const PJRT_Error* e) { return static_cast<PJRT_Error_Code>(e->status.code()); }
void for_each_payload(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {}

constexpr PJRT_Error_FunctionTable kTable = {sizeof(PJRT_Error_FunctionTable), sizeof(PJRT_Error),
                                             nullptr, destroy, message, code, for_each_payload};

}  // namespace

PJRT_Error* to_error(const Status& s) { return s.ok() ? nullptr : new PJRT_Error{&kTable, s}; }

Status from_code(PJRT_Error_Code code, std::string_view message) {
  return Status(static_cast<absl::StatusCode>(code), absl::string_view(message.data(), message.size()));
}

// Hosts destroy the null error of every event that went well.
Status Error_Destroy(PJRT_Error_Destroy_Args& a) {
  delete a.error;
  return absl::OkStatus();
}
Status Error_Message(PJRT_Error_Message_Args& a) {
  message(a.error, &a.message, &a.message_size);
  return absl::OkStatus();
}
Status Error_GetCode(PJRT_Error_GetCode_Args& a) {
  a.code = code(a.error);
  return absl::OkStatus();
}
// An error here would be asked for its payloads in turn, without end.
Status Error_ForEachPayload(PJRT_Error_ForEachPayload_Args&) { return absl::OkStatus(); }

}  // namespace braze::pjrt
