// SPDX-License-Identifier: Apache-2.0
// The plugin as a C library: table, errors, buffers, programs, donation, events, threads.
#include <atomic>
#include <cstring>
#include <thread>

#include "test/pjrt/host.h"

namespace braze::pjrt_test {
namespace {

constexpr char kAxpy[] = R"(
func.func @main(%a: tensor<f32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4xf32>
  %2 = stablehlo.add %1, %y : tensor<4xf32>
  return %2 : tensor<4xf32>
})";
constexpr char kDonating[] = R"(
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})";
// A millisecond or two: long enough to be handed to the device's queue.
constexpr char kLong[] = R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<500000> : tensor<i32>
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.add %v, %c : tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
    }
  return %r#1 : tensor<4xf32>
})";

PJRT_LoadedExecutable* compiled(const Client& c, const char* code) {
  PJRT_LoadedExecutable* x = nullptr;
  EXPECT_FINE(c.compile(code, &x));
  return x;
}

TEST(Plugin, TableIsWhole) {
  EXPECT_EQ(api().pjrt_api_version.major_version, 0);
  EXPECT_EQ(api().struct_size, sizeof(PJRT_Api));
  const auto* slots = reinterpret_cast<void* const*>(&api().PJRT_Error_Destroy);
  const size_t n = (sizeof(PJRT_Api) - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void*);
  EXPECT_EQ(n, 135u);
  for (size_t i = 0; i < n; ++i) EXPECT_NE(slots[i], nullptr) << i;
  bool ffi = false, layouts = false, shardings = false;
  for (auto* e = api().extension_start; e; e = e->next) {
    ffi |= e->type == PJRT_Extension_Type_FFI;
    layouts |= e->type == PJRT_Extension_Type_Layouts;
    shardings |= e->type == PJRT_Extension_Type_Shardings;
  }
  EXPECT_TRUE(ffi && layouts && shardings);
}

TEST(Plugin, NullErrorMayBeDestroyed) {
  auto a = args<PJRT_Error_Destroy_Args>();
  EXPECT_EQ(api().PJRT_Error_Destroy(&a), nullptr);
}

TEST(Plugin, RunsAProgram) {
  Client c;
  PJRT_LoadedExecutable* x = compiled(c, kAxpy);
  PJRT_Buffer* a = c.put({2}, {});
  PJRT_Buffer* b = c.put({1, 2, 3, 4}, {4});
  PJRT_Buffer* r = nullptr;
  ASSERT_EQ(text(execute(x, {a, b, b}, &r)), "");
  EXPECT_EQ(fetch(r), (std::vector<float>{3, 6, 9, 12}));
  for (PJRT_Buffer* p : {a, b, r}) destroy(p);
  destroy(x);
}

TEST(Plugin, ErrorsCarryTheirText) {
  Client c;
  PJRT_LoadedExecutable* x = nullptr;
  PJRT_Error_Code code;
  EXPECT_NE(text(c.compile("no program", &x), &code), "");
  EXPECT_EQ(code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(text(c.compile("func.func @main() -> tensor<f32> {", &x)), "");
  EXPECT_NE(text(c.compile(kAxpy, &x, "\xff\xff\xff")), "");  // options that are no proto
  EXPECT_NE(text(c.compile(kAxpy, &x, "", "fortran")).find("fortran"), std::string::npos);
  // num_partitions = 2 on a client with one device
  EXPECT_NE(text(c.compile(kAxpy, &x, std::string("\x1a\x02\x28\x02", 4)), &code), "");

  x = compiled(c, kAxpy);
  PJRT_Buffer* wrong = c.put({1, 2}, {2});
  PJRT_Buffer* r = nullptr;
  EXPECT_NE(text(execute(x, {wrong}, &r)).find("3 arguments"), std::string::npos);
  EXPECT_NE(text(execute(x, {wrong, wrong, wrong}, &r)).find("argument 0 is f32[2]"), std::string::npos);
  destroy(wrong);
  destroy(x);
}

TEST(Plugin, ArgumentsBySize) {
  Client c(1, false, true);
  PJRT_LoadedExecutable* x = compiled(c, kAxpy);
  PJRT_Buffer* a = c.put({2}, {1, 1});
  PJRT_Buffer* b = c.put({1, 2, 3, 4}, {2, 2});
  PJRT_Buffer* turned = c.put({1, 2, 3, 4}, {2, 2}, 0, {4, 8});
  PJRT_Buffer* shorter = c.put({1, 2, 3}, {3});
  PJRT_Buffer* r = nullptr;
  ASSERT_EQ(text(execute(x, {a, b, turned}, &r)), "");
  EXPECT_EQ(fetch(r), (std::vector<float>{3, 7, 8, 12}));
  destroy(r);
  EXPECT_NE(text(execute(x, {a, b, shorter}, &r)).find("argument 2 is f32[3]"), std::string::npos);
  for (PJRT_Buffer* p : {a, b, turned, shorter}) destroy(p);
  destroy(x);
}

TEST(Plugin, ShorterArgumentStructsOfOlderHosts) {
  Client c;
  auto a = args<PJRT_Client_Create_Args>();
  a.struct_size = offsetof(PJRT_Client_Create_Args, kv_try_get_callback);
  EXPECT_FINE(api().PJRT_Client_Create(&a));
  auto d = args<PJRT_Client_Destroy_Args>();
  d.client = a.client;
  EXPECT_FINE(api().PJRT_Client_Destroy(&d));
}

TEST(Plugin, StridesAndLayouts) {
  Client c;
  const std::vector<float> data = {1, 2, 3, 4, 5, 6};
  PJRT_Buffer* b = c.put(data, {3, 2}, 0, {4, 12});  // the transpose of a 2 by 3 array
  EXPECT_EQ(fetch(b), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  auto l = args<PJRT_Buffer_GetMemoryLayout_Args>();
  l.buffer = b;
  EXPECT_FINE(api().PJRT_Buffer_GetMemoryLayout(&l));
  EXPECT_EQ(l.layout.tiled.minor_to_major[0], 1);
  // column-major out
  auto t = args<PJRT_Buffer_ToHostBuffer_Args>();
  auto layout = args<PJRT_Buffer_MemoryLayout>();
  const int64_t order[] = {0, 1};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = sizeof(layout.tiled);
  layout.tiled.minor_to_major = order;
  layout.tiled.minor_to_major_size = 2;
  std::vector<float> out(6);
  t.src = b;
  t.host_layout = &layout;
  t.dst = out.data();
  t.dst_size = 24;
  EXPECT_FINE(api().PJRT_Buffer_ToHostBuffer(&t));
  EXPECT_EQ(await(t.event), "");
  EXPECT_EQ(out, data);
  destroy(b);
}

TEST(Plugin, BadSizesAreErrors) {
  Client c;
  const float f = 0;
  for (std::vector<int64_t> dims : {std::vector<int64_t>{-1}, {int64_t{1} << 40, int64_t{1} << 40},
                                    {int64_t{1} << 44}}) {
    auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
    a.client = c.get();
    a.data = &f;
    a.type = PJRT_Buffer_Type_F32;
    a.dims = dims.data();
    a.num_dims = dims.size();
    a.device = c.device();
    EXPECT_NE(text(api().PJRT_Client_BufferFromHostBuffer(&a)), "");
  }
}

// Whether the result was there when the call came back; waits for it after that.
bool done_on_return(PJRT_LoadedExecutable* x, PJRT_Buffer* argument) {
  PJRT_Buffer* r = nullptr;
  EXPECT_EQ(text(execute(x, {argument}, &r)), "");
  auto ready = args<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = r;
  EXPECT_FINE(api().PJRT_Buffer_ReadyEvent(&ready));
  auto is = args<PJRT_Event_IsReady_Args>();
  is.event = ready.event;
  EXPECT_FINE(api().PJRT_Event_IsReady(&is));
  EXPECT_EQ(await(ready.event), "");
  destroy(r);
  return is.is_ready;
}

TEST(Plugin, CallsRunOnTheThreadOfAHostThatWaitsAnyway) {
  Client c(1, true);
  PJRT_LoadedExecutable* x = compiled(c, kLong);
  PJRT_Buffer* a = c.put({1, 2, 3, 4}, {4});
  int handed_over = 0, in_turn = 0;
  for (int i = 0; i < 8; ++i) handed_over += !done_on_return(x, a);
  EXPECT_GT(handed_over, 0);
  for (int i = 0; i < 400 && in_turn < 4; ++i) in_turn = done_on_return(x, a) ? in_turn + 1 : 0;
  EXPECT_EQ(in_turn, 4);
  // A host that goes on without waiting is not held up.
  handed_over = 0;
  for (int i = 0; i < 8; ++i) {
    PJRT_Buffer* r = nullptr;
    ASSERT_EQ(text(execute(x, {a}, &r)), "");
    destroy(r);
    handed_over += !done_on_return(x, a);
  }
  EXPECT_GT(handed_over, 0);
  destroy(a);
  destroy(x);
}

TEST(Plugin, Donation) {
  Client c;
  PJRT_LoadedExecutable* x = compiled(c, kDonating);
  PJRT_Buffer* b = c.put({1, 2, 3, 4}, {4});
  PJRT_Buffer* r = nullptr;
  auto before = args<PJRT_Buffer_UnsafePointer_Args>(), after = before;
  before.buffer = b;
  EXPECT_FINE(api().PJRT_Buffer_UnsafePointer(&before));
  ASSERT_EQ(text(execute(x, {b}, &r)), "");
  after.buffer = r;
  EXPECT_FINE(api().PJRT_Buffer_UnsafePointer(&after));
  EXPECT_EQ(before.buffer_pointer, after.buffer_pointer);  // the memory is used again
  auto d = args<PJRT_Buffer_IsDeleted_Args>();
  d.buffer = b;
  EXPECT_FINE(api().PJRT_Buffer_IsDeleted(&d));
  EXPECT_TRUE(d.is_deleted);
  EXPECT_EQ(fetch(r), (std::vector<float>{2, 4, 6, 8}));
  PJRT_Buffer* again = nullptr;
  EXPECT_NE(text(execute(x, {b}, &again)).find("deleted or donated"), std::string::npos);
  destroy(b);
  destroy(r);
  destroy(x);
}

TEST(Plugin, LentMemoryIsGivenBack) {
  Client c;
  std::vector<float> data(4096 + 16, 1);
  auto at = (reinterpret_cast<uintptr_t>(data.data()) + 63) / 64 * 64;
  const int64_t dims[] = {4096};
  auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
  a.client = c.get();
  a.data = reinterpret_cast<void*>(at);
  a.type = PJRT_Buffer_Type_F32;
  a.dims = dims;
  a.num_dims = 1;
  a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  a.device = c.device();
  ASSERT_EQ(text(api().PJRT_Client_BufferFromHostBuffer(&a)), "");
  auto p = args<PJRT_Buffer_UnsafePointer_Args>();
  p.buffer = a.buffer;
  EXPECT_FINE(api().PJRT_Buffer_UnsafePointer(&p));
  EXPECT_EQ(p.buffer_pointer, at);
  auto ready = args<PJRT_Event_IsReady_Args>();
  ready.event = a.done_with_host_buffer;
  EXPECT_FINE(api().PJRT_Event_IsReady(&ready));
  EXPECT_FALSE(ready.is_ready);
  destroy(a.buffer);
  EXPECT_FINE(api().PJRT_Event_IsReady(&ready));
  EXPECT_TRUE(ready.is_ready);
  EXPECT_EQ(await(a.done_with_host_buffer), "");
}

TEST(Plugin, SerializeAndLoad) {
  Client c;
  PJRT_LoadedExecutable* x = compiled(c, kAxpy);
  auto g = args<PJRT_LoadedExecutable_GetExecutable_Args>();
  g.loaded_executable = x;
  EXPECT_FINE(api().PJRT_LoadedExecutable_GetExecutable(&g));
  auto s = args<PJRT_Executable_Serialize_Args>();
  s.executable = g.executable;
  EXPECT_FINE(api().PJRT_Executable_Serialize(&s));
  const std::string bytes(s.serialized_bytes, s.serialized_bytes_size);
  s.serialized_executable_deleter(s.serialized_executable);
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 40) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    auto l = args<PJRT_Executable_DeserializeAndLoad_Args>();
    l.client = c.get();
    l.serialized_executable = bad.data();
    l.serialized_executable_size = bad.size();
    EXPECT_NE(text(api().PJRT_Executable_DeserializeAndLoad(&l)), "") << at;
  }
  for (size_t cut : {size_t{0}, size_t{5}, size_t{20}, bytes.size() - 1}) {
    auto l = args<PJRT_Executable_DeserializeAndLoad_Args>();
    l.client = c.get();
    l.serialized_executable = bytes.data();
    l.serialized_executable_size = cut;
    EXPECT_NE(text(api().PJRT_Executable_DeserializeAndLoad(&l)), "") << cut;
  }
  auto l = args<PJRT_Executable_DeserializeAndLoad_Args>();
  l.client = c.get();
  l.serialized_executable = bytes.data();
  l.serialized_executable_size = bytes.size();
  ASSERT_EQ(text(api().PJRT_Executable_DeserializeAndLoad(&l)), "");
  PJRT_Buffer* a = c.put({2}, {});
  PJRT_Buffer* b = c.put({1, 2, 3, 4}, {4});
  PJRT_Buffer* r = nullptr;
  ASSERT_EQ(text(execute(l.loaded_executable, {a, b, b}, &r)), "");
  EXPECT_EQ(fetch(r), (std::vector<float>{3, 6, 9, 12}));
  for (PJRT_Buffer* p : {a, b, r}) destroy(p);
  destroy(l.loaded_executable);

  auto program = args<PJRT_Program>();
  auto o = args<PJRT_Executable_OptimizedProgram_Args>();
  o.executable = g.executable;
  o.program = &program;
  EXPECT_FINE(api().PJRT_Executable_OptimizedProgram(&o));
  ASSERT_GT(program.code_size, 0u);
  std::string code(program.code_size, 0);
  program.code = code.data();
  EXPECT_FINE(api().PJRT_Executable_OptimizedProgram(&o));
  EXPECT_EQ(std::string(program.format, program.format_size), "hlo_with_config");
  auto e = args<PJRT_Executable_Destroy_Args>();
  e.executable = g.executable;
  EXPECT_FINE(api().PJRT_Executable_Destroy(&e));
  destroy(x);
}

TEST(Plugin, LongProgramsRunInOrderWhileTheHostGoesOn) {
  Client c(1, true);
  PJRT_LoadedExecutable* x = compiled(c, kLong);
  PJRT_Buffer* b = c.put({0, 1, 2, 3}, {4});
  std::atomic<int> called{0};
  for (int k = 0; k < 5; ++k) {
    PJRT_Buffer* r = nullptr;
    PJRT_Event* done = nullptr;
    ASSERT_EQ(text(execute(x, {b}, &r, &done)), "");
    destroy(b);  // the call holds what it needs
    b = r;
    auto o = args<PJRT_Event_OnReady_Args>();
    o.event = done;
    o.user_arg = &called;
    o.callback = [](PJRT_Error* e, void* arg) {
      EXPECT_EQ(text(e), "");
      static_cast<std::atomic<int>*>(arg)->fetch_add(1);
    };
    EXPECT_FINE(api().PJRT_Event_OnReady(&o));
    if (k == 4) {
      EXPECT_EQ(await(done), "");
      while (called.load() < 5) std::this_thread::yield();
    } else {
      auto d = args<PJRT_Event_Destroy_Args>();
      d.event = done;
      EXPECT_FINE(api().PJRT_Event_Destroy(&d));
    }
  }
  EXPECT_EQ(fetch(b), (std::vector<float>{2500000, 2500001, 2500002, 2500003}));
  destroy(b);
  destroy(x);
}

TEST(Plugin, ThreadsCompileAndRunAtOnce) {
  Client c(2, true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&c, t] {
      for (int k = 0; k < 3; ++k) {
        PJRT_LoadedExecutable* x = compiled(c, k % 2 ? kLong : kDonating);
        PJRT_Buffer* b = c.put({1.f * t, 1, 2, 3}, {4});
        PJRT_Buffer* r = nullptr;
        ASSERT_EQ(text(execute(x, {b}, &r)), "");
        EXPECT_EQ(fetch(r)[0], k % 2 ? t + 500000 : 2 * t);
        destroy(b);
        destroy(r);
        destroy(x);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Plugin, RefusedSlotsSayTheirName) {
  auto a = args<PJRT_TopologyDescription_Create_Args>();
  PJRT_Error_Code code;
  EXPECT_NE(text(api().PJRT_TopologyDescription_Create(&a), &code).find("topology not implemented"),
            std::string::npos);
  EXPECT_EQ(code, PJRT_Error_Code_UNIMPLEMENTED);
}

}  // namespace
}  // namespace braze::pjrt_test
