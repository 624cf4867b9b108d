// SPDX-License-Identifier: Apache-2.0
// XLA's foreign function interface, version 0.3, as C structs: what handlers written for XLA:CPU expect.
// Handlers get a CallFrame and answer with an error, null if there is none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braze::pjrt::ffi {

enum class ExtensionType : int { kMetadata = 1 };
struct Extension {
  size_t struct_size;
  ExtensionType type;
  Extension* next;
};
struct Head {
  size_t struct_size;
  Extension* extension_start;
};

struct Error;  // error.cc of handlers; ours, made by ErrorCreate
struct Context;
struct Future;
struct Api;

struct ByteSpan {
  const char* data;
  size_t size;
};
struct TypeId {
  int64_t id;
};
struct TypeInfo : Head {
  void (*deleter)(void* object);
};

struct Buffer : Head {
  int dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};
struct Scalar {
  int dtype;
  void* value;
};
struct Array {
  int dtype;
  size_t size;
  void* data;
};

enum class ValueType : int { kBuffer = 1 };
enum class AttributeType : int { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
struct Values : Head {
  int64_t size;
  ValueType* types;
  void** values;
};
struct Attributes : Head {
  int64_t size;
  AttributeType* types;
  ByteSpan** names;
  void** values;
};

enum class Stage : int { kInstantiate, kPrepare, kInitialize, kExecute };
inline constexpr int kStages = 4;

struct CallFrame : Head {
  const Api* api;
  Context* context;
  Stage stage;
  Values arguments, results;
  Attributes attributes;
  Future* future;  // written by the handler if it goes on after it returns
};
using Handler = Error*(CallFrame*);

struct ApiVersion : Head {
  int major, minor;
};

struct ErrorCreateArgs : Head {
  const char* message;
  int code;
};
struct ErrorMessageArgs : Head {
  Error* error;
  const char* message;
};
struct ErrorDestroyArgs : Head {
  Error* error;
};
struct HandlerRegisterArgs : Head {
  ByteSpan name, platform;
  Handler* handlers[kStages];
  uint32_t traits;
};
struct StreamArgs : Head {
  Context* context;
  void* stream;
};
struct TypeRegisterArgs : Head {
  ByteSpan name;
  TypeId* type_id;
  const TypeInfo* info;
};
struct ContextGetArgs : Head {
  Context* context;
  TypeId* type_id;
  void* data;
};
struct StateArgs : Head {
  Context* context;
  Stage stage;
  TypeId* type_id;
  void* state;
};
struct AllocateArgs : Head {
  Context* context;
  size_t size, alignment;
  void* data;
};
struct FreeArgs : Head {
  Context* context;
  size_t size;
  void* data;
};
struct ScheduleArgs : Head {
  Context* context;
  void (*task)(void* data);
  void* data;
};
struct NumThreadsArgs : Head {
  Context* context;
  int64_t* count;
};
struct FutureCreateArgs : Head {
  Future* future;
};
struct FutureSetArgs : Head {
  Future* future;
};
struct FutureErrorArgs : Head {
  Future* future;
  Error* error;
};
struct RunIdArgs : Head {
  Context* context;
  int64_t run_id;
};
struct DeviceOrdinalArgs : Head {
  Context* context;
  int32_t device;
};

struct Api : Head {
  ApiVersion version;
  const void* internal;
  Error* (*error_create)(ErrorCreateArgs*);
  void (*error_message)(ErrorMessageArgs*);
  void (*error_destroy)(ErrorDestroyArgs*);
  Error* (*handler_register)(HandlerRegisterArgs*);
  Error* (*stream_get)(StreamArgs*);
  Error* (*type_register)(TypeRegisterArgs*);
  Error* (*context_get)(ContextGetArgs*);
  Error* (*state_set)(StateArgs*);
  Error* (*state_get)(StateArgs*);
  Error* (*memory_allocate)(AllocateArgs*);
  Error* (*memory_free)(FreeArgs*);
  Error* (*thread_schedule)(ScheduleArgs*);
  Error* (*thread_count)(NumThreadsArgs*);
  Error* (*future_create)(FutureCreateArgs*);
  Error* (*future_set)(FutureSetArgs*);
  Error* (*future_error)(FutureErrorArgs*);
  Error* (*run_id)(RunIdArgs*);
  Error* (*device_ordinal)(DeviceOrdinalArgs*);
};

}  // namespace braze::pjrt::ffi
