// SPDX-License-Identifier: Apache-2.0
// Foreign functions for ffi_test.py, written as users write them, against jaxlib's headers.
#include <cstdint>
#include <memory>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using F32Out = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Axpy(float a, int64_t shift, std::string_view mode, ffi::Span<const int64_t> extra,
                       F32 x, F32 y, F32Out out, ffi::ResultBuffer<ffi::S32> count) {
  if (mode == "fail") return ffi::Error(ffi::ErrorCode::kInvalidArgument, "asked to fail");
  float more = 0;
  for (int64_t e : extra) more += e;
  for (size_t i = 0; i < x.element_count(); ++i)
    out->typed_data()[i] = a * x.typed_data()[i] + y.typed_data()[i] + shift + more;
  count->typed_data()[0] = static_cast<int32_t>(x.element_count());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(axpy, Axpy,
                              ffi::Ffi::Bind()
                                  .Attr<float>("a")
                                  .Attr<int64_t>("shift")
                                  .Attr<std::string_view>("mode")
                                  .Attr<ffi::Span<const int64_t>>("extra")
                                  .Arg<F32>()
                                  .Arg<F32>()
                                  .Ret<F32>()
                                  .Ret<ffi::Buffer<ffi::S32>>());

// The matrix's elements in the order of memory: shows the layout that the call asked for.
static ffi::Error Memory(F32 x, F32Out out) {
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(memory, Memory, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// Adds one in place: the result must share the operand's memory and hold its values.
static ffi::Error Increment(F32 x, F32Out out) {
  if (x.untyped_data() != out->untyped_data())
    return ffi::Error(ffi::ErrorCode::kInternal, "the result does not alias the operand");
  for (size_t i = 0; i < x.element_count(); ++i) out->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(increment, Increment, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  float calls = 0;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter() { return std::make_unique<Counter>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(make_counter, MakeCounter, ffi::Ffi::BindInstantiate());

static ffi::Error Count(Counter* c, F32Out out) {
  out->typed_data()[0] = ++c->calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count,
                              ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<F32>());

extern "C" void* counter_type_id() { return &Counter::id; }
extern "C" void* counter_type_info() { return &Counter::info; }
