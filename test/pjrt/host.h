// SPDX-License-Identifier: Apache-2.0
// A small PJRT host for tests: loads the built plugin as any process would, and wraps what tests do often.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt/c_api.h"

namespace braze::pjrt_test {

inline const PJRT_Api& api() {
  static const PJRT_Api* table = [] {
    void* library = dlopen(BRAZE_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) ADD_FAILURE() << dlerror();
    auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
    return get();
  }();
  return *table;
}

template <typename A>
A args() {
  A a = {};
  a.struct_size = sizeof(A);
  return a;
}

// The message of an error, which it frees; "" if there is none.
inline std::string text(PJRT_Error* e, PJRT_Error_Code* code = nullptr) {
  if (!e) return "";
  auto m = args<PJRT_Error_Message_Args>();
  m.error = e;
  api().PJRT_Error_Message(&m);
  std::string out(m.message, m.message_size);
  auto c = args<PJRT_Error_GetCode_Args>();
  c.error = e;
  api().PJRT_Error_GetCode(&c);
  if (code) *code = c.code;
  auto d = args<PJRT_Error_Destroy_Args>();
  d.error = e;
  api().PJRT_Error_Destroy(&d);
  return out;
}

#define EXPECT_FINE(call) EXPECT_EQ(text(call), "")

inline std::string await(PJRT_Event* event) {
  auto w = args<PJRT_Event_Await_Args>();
  w.event = event;
  std::string out = text(api().PJRT_Event_Await(&w));
  auto d = args<PJRT_Event_Destroy_Args>();
  d.event = event;
  EXPECT_FINE(api().PJRT_Event_Destroy(&d));
  return out;
}

class Client {
 public:
  explicit Client(int64_t devices = 1, bool asynchronous = false, bool arguments_by_size = false) {
    PJRT_NamedValue options[3] = {};
    options[0].name = "cpu_device_count";
    options[0].name_size = 16;
    options[0].type = PJRT_NamedValue_kInt64;
    options[0].int64_value = devices;
    options[1].name = "asynchronous";
    options[1].name_size = 12;
    options[1].type = PJRT_NamedValue_kBool;
    options[1].bool_value = asynchronous;
    options[2].name = "arguments_by_size";
    options[2].name_size = 17;
    options[2].type = PJRT_NamedValue_kBool;
    options[2].bool_value = arguments_by_size;
    auto a = args<PJRT_Client_Create_Args>();
    a.create_options = options;
    a.num_options = 3;
    EXPECT_FINE(api().PJRT_Client_Create(&a));
    client_ = a.client;
  }
  ~Client() {
    auto a = args<PJRT_Client_Destroy_Args>();
    a.client = client_;
    EXPECT_FINE(api().PJRT_Client_Destroy(&a));
  }
  PJRT_Client* get() const { return client_; }
  PJRT_Device* device(int k = 0) const {
    auto a = args<PJRT_Client_Devices_Args>();
    a.client = client_;
    EXPECT_FINE(api().PJRT_Client_Devices(&a));
    return a.devices[k];
  }
  PJRT_Error* compile(std::string code, PJRT_LoadedExecutable** out, std::string options = "",
                      std::string format = "mlir") const {
    auto p = args<PJRT_Program>();
    p.code = code.data();
    p.code_size = code.size();
    p.format = format.data();
    p.format_size = format.size();
    auto a = args<PJRT_Client_Compile_Args>();
    a.client = client_;
    a.program = &p;
    a.compile_options = options.data();
    a.compile_options_size = options.size();
    PJRT_Error* e = api().PJRT_Client_Compile(&a);
    *out = a.executable;
    return e;
  }
  PJRT_Buffer* put(const std::vector<float>& data, std::vector<int64_t> dims, int device_index = 0,
                   const std::vector<int64_t>& strides = {}) const {
    auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
    a.client = client_;
    a.data = data.data();
    a.type = PJRT_Buffer_Type_F32;
    a.dims = dims.data();
    a.num_dims = dims.size();
    a.byte_strides = strides.data();
    a.num_byte_strides = strides.size();
    a.device = device(device_index);
    EXPECT_FINE(api().PJRT_Client_BufferFromHostBuffer(&a));
    EXPECT_EQ(await(a.done_with_host_buffer), "");
    return a.buffer;
  }

 private:
  PJRT_Client* client_ = nullptr;
};

inline std::vector<float> fetch(PJRT_Buffer* b) {
  auto a = args<PJRT_Buffer_ToHostBuffer_Args>();
  a.src = b;
  EXPECT_FINE(api().PJRT_Buffer_ToHostBuffer(&a));
  std::vector<float> out(a.dst_size / sizeof(float));
  a.dst = out.data();
  if (std::string e = text(api().PJRT_Buffer_ToHostBuffer(&a)); !e.empty()) {
    ADD_FAILURE() << e;
    return {};
  }
  EXPECT_EQ(await(a.event), "");
  return out;
}

inline void destroy(PJRT_Buffer* b) {
  auto a = args<PJRT_Buffer_Destroy_Args>();
  a.buffer = b;
  EXPECT_FINE(api().PJRT_Buffer_Destroy(&a));
}
inline void destroy(PJRT_LoadedExecutable* x) {
  auto a = args<PJRT_LoadedExecutable_Destroy_Args>();
  a.executable = x;
  EXPECT_FINE(api().PJRT_LoadedExecutable_Destroy(&a));
}

// Runs on one device; gives the first result. `done`: the completion event, else none is asked for.
inline PJRT_Error* execute(PJRT_LoadedExecutable* x, std::vector<PJRT_Buffer*> arguments,
                           PJRT_Buffer** result, PJRT_Event** done = nullptr,
                           PJRT_ExecuteContext* context = nullptr) {
  auto options = args<PJRT_ExecuteOptions>();
  options.context = context;
  PJRT_Buffer** argument_list = arguments.data();
  PJRT_Buffer** result_list = result;
  auto a = args<PJRT_LoadedExecutable_Execute_Args>();
  a.executable = x;
  a.options = &options;
  a.argument_lists = &argument_list;
  a.num_devices = 1;
  a.num_args = arguments.size();
  a.output_lists = &result_list;
  a.device_complete_events = done;
  return api().PJRT_LoadedExecutable_Execute(&a);
}

}  // namespace braze::pjrt_test
