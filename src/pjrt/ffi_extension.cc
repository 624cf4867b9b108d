// SPDX-License-Identifier: Apache-2.0
// The FFI extension of PJRT: how a host registers handlers and types, and gives data to a call.
#include "pjrt/error.h"
#include "pjrt/execute_context.h"
#include "pjrt/ffi.h"

namespace braze::pjrt::ffi {
namespace {

struct TypeRegisterInfo {
  void (*deleter)(void*);
  void (*serialize)();
  void (*deserialize)();
};
struct PjrtTypeRegister {
  PJRT_HEAD
  const char* name;
  size_t name_size;
  int64_t type_id;  // 0: to be chosen
  TypeRegisterInfo* info;
};
struct PjrtUserDataAdd {
  PJRT_HEAD
  PJRT_ExecuteContext* context;
  int64_t type_id;
  void* data;
};
struct PjrtRegisterHandler {  // no extension_start
  size_t struct_size;
  const char* name;
  size_t name_size;
  Handler* handler;
  const char* platform;  // of register_stage: the stage, or "table": the handler is the host's table
  size_t platform_size;
  uint32_t traits;
};

PJRT_Error* type_register(PjrtTypeRegister* a) {
  auto id = register_type({a->name, a->name_size}, a->type_id, a->info ? a->info->deleter : nullptr);
  if (id.ok()) a->type_id = *id;
  return to_error(id.status());
}
PJRT_Error* user_data_add(PjrtUserDataAdd* a) {
  if (!a->context) return to_error(invalid("user_data_add: no context"));
  a->context->data.emplace_back(a->type_id, a->data);
  return nullptr;
}
PJRT_Error* register_execute(PjrtRegisterHandler* a) {
  return to_error(register_handler({a->name, a->name_size}, Stage::kExecute, a->handler, a->traits));
}
PJRT_Error* register_stage(PjrtRegisterHandler* a) {
  constexpr std::string_view kNames[] = {"instantiate", "prepare", "initialize", "execute"};
  for (int s = 0; s < kStages; ++s)
    if (std::string_view(a->platform, a->platform_size) == kNames[s])
      return to_error(register_handler({a->name, a->name_size}, static_cast<Stage>(s), a->handler,
                                       a->traits));
  if (std::string_view(a->platform, a->platform_size) == "table")
    return to_error(set_host_table(reinterpret_cast<const Api*>(a->handler)));
  return to_error(invalid("no stage of FFI calls is named so"));
}

// The last entry is Braze's own: hosts that do not look for it are not disturbed.
struct PjrtFfi {
  PJRT_Extension_Base base;
  PJRT_Error* (*type_register)(PjrtTypeRegister*);
  PJRT_Error* (*user_data_add)(PjrtUserDataAdd*);
  PJRT_Error* (*register_handler)(PjrtRegisterHandler*);
  PJRT_Error* (*register_stage)(PjrtRegisterHandler*);
};

}  // namespace

PJRT_Extension_Base* extension(PJRT_Extension_Base* next) {
  static PjrtFfi e = {{sizeof(PjrtFfi), PJRT_Extension_Type_FFI, nullptr},
                      type_register, user_data_add, register_execute, register_stage};
  e.base.next = next;
  return &e.base;
}

}  // namespace braze::pjrt::ffi
