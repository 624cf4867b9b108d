// SPDX-License-Identifier: Apache-2.0
/* The PJRT C API, version 0.112: what a plugin and its host agree on. Plain C; a host needs this header
 * and c_api_slots.def only.
 *
 * A plugin exports GetPjrtApi, which gives the table below for the life of the process. Every function
 * takes one argument struct that begins with its size; all but Error_Destroy and Error_Message return
 * an error, null if there is none. */
#ifndef BRAZE_PJRT_C_API_H_
#define BRAZE_PJRT_C_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PJRT_API_MAJOR = 0, PJRT_API_MINOR = 112 };

#define OPAQUE(name) typedef struct PJRT_##name PJRT_##name;
OPAQUE(Error) OPAQUE(Event) OPAQUE(Client) OPAQUE(Device) OPAQUE(DeviceDescription) OPAQUE(Memory)
OPAQUE(TopologyDescription) OPAQUE(SerializedTopology) OPAQUE(Executable) OPAQUE(LoadedExecutable)
OPAQUE(SerializedExecutable) OPAQUE(SerializedCompileOptions) OPAQUE(DeviceAssignmentSerialized)
OPAQUE(Device_Attributes) OPAQUE(Buffer) OPAQUE(ExecuteContext) OPAQUE(CopyToDeviceStream)
OPAQUE(AsyncHostToDeviceTransferManager) OPAQUE(AsyncTrackingEvent)
OPAQUE(FulfillAliasBufferCallback) OPAQUE(MultiSlice_Config)
#undef OPAQUE

typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16
} PJRT_Error_Code;

typedef enum {
  PJRT_Buffer_Type_INVALID, PJRT_Buffer_Type_PRED,
  PJRT_Buffer_Type_S8, PJRT_Buffer_Type_S16, PJRT_Buffer_Type_S32, PJRT_Buffer_Type_S64,
  PJRT_Buffer_Type_U8, PJRT_Buffer_Type_U16, PJRT_Buffer_Type_U32, PJRT_Buffer_Type_U64,
  PJRT_Buffer_Type_F16, PJRT_Buffer_Type_F32, PJRT_Buffer_Type_F64, PJRT_Buffer_Type_BF16,
  PJRT_Buffer_Type_C64, PJRT_Buffer_Type_C128,
  PJRT_Buffer_Type_F8E5M2, PJRT_Buffer_Type_F8E4M3FN, PJRT_Buffer_Type_F8E4M3B11FNUZ,
  PJRT_Buffer_Type_F8E5M2FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ,
  PJRT_Buffer_Type_S4, PJRT_Buffer_Type_U4, PJRT_Buffer_Type_TOKEN,
  PJRT_Buffer_Type_S2, PJRT_Buffer_Type_U2,
  PJRT_Buffer_Type_F8E4M3, PJRT_Buffer_Type_F8E3M4, PJRT_Buffer_Type_F8E8M0FNU,
  PJRT_Buffer_Type_F4E2M1FN, PJRT_Buffer_Type_S1, PJRT_Buffer_Type_U1,
  PJRT_Buffer_Type_F6E2M3FN, PJRT_Buffer_Type_F6E3M2FN /* both since 0.114 */
} PJRT_Buffer_Type;

typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
  PJRT_HostBufferSemantics_kImmutableZeroCopy, /* until the buffer is destroyed */
  PJRT_HostBufferSemantics_kMutableZeroCopy    /* and the buffer may write it */
} PJRT_HostBufferSemantics;

typedef enum {
  PJRT_Extension_Type_Gpu_Custom_Call, PJRT_Extension_Type_Profiler,
  PJRT_Extension_Type_Custom_Partitioner, PJRT_Extension_Type_Stream, PJRT_Extension_Type_Layouts,
  PJRT_Extension_Type_FFI, PJRT_Extension_Type_MemoryDescriptions,
  PJRT_Extension_Type_Shardings = 19
} PJRT_Extension_Type;

typedef struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
} PJRT_Extension_Base;

/* What every struct begins with. */
#define PJRT_HEAD     \
  size_t struct_size; \
  PJRT_Extension_Base* extension_start;

typedef enum {
  PJRT_NamedValue_kString, PJRT_NamedValue_kInt64, PJRT_NamedValue_kInt64List,
  PJRT_NamedValue_kFloat, PJRT_NamedValue_kBool
} PJRT_NamedValue_Type;

typedef struct PJRT_NamedValue {
  PJRT_HEAD
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size; /* of strings and lists; else 1 */
} PJRT_NamedValue;

typedef struct PJRT_Program {
  PJRT_HEAD
  char* code;
  size_t code_size;
  const char* format; /* "mlir", "hlo", "hlo_with_config" */
  size_t format_size;
} PJRT_Program;

typedef struct PJRT_Chunk {
  void* data;
  size_t size;
  void (*deleter)(void* data, void* deleter_arg);
  void* deleter_arg;
} PJRT_Chunk;

typedef PJRT_Error* (*PJRT_CallbackError)(PJRT_Error_Code code, const char* message, size_t size);
typedef struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_Error* (*send_callback)(PJRT_Chunk*, PJRT_CallbackError*, size_t total, bool done, void* arg);
} PJRT_SendCallbackInfo;
typedef struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  void (*recv_callback)(PJRT_CopyToDeviceStream*, void* arg);
} PJRT_RecvCallbackInfo;

typedef struct PJRT_ExecuteOptions {
  PJRT_HEAD
  PJRT_SendCallbackInfo** send_callbacks; /* [device][operation] */
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location; /* ends with a zero */
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;
} PJRT_ExecuteOptions;

typedef struct PJRT_LoadOptions { /* no extension_start */
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
} PJRT_LoadOptions;

typedef struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
} PJRT_LogicalDeviceIds;

typedef struct PJRT_ShapeSpec {
  PJRT_HEAD
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
} PJRT_ShapeSpec;

typedef struct PJRT_ProcessInfo {
  PJRT_HEAD
  int task_id;
  uint64_t incarnation_id;
  int state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_ProcessInfo;

typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled, PJRT_Buffer_MemoryLayout_Type_Strides
} PJRT_Buffer_MemoryLayout_Type;
typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  PJRT_HEAD
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;
typedef struct PJRT_Buffer_MemoryLayout_Strides {
  PJRT_HEAD
  const int64_t* byte_strides;
  size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;
typedef struct PJRT_Buffer_MemoryLayout {
  PJRT_HEAD
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
} PJRT_Buffer_MemoryLayout;

/* The callee owns the error, which is null if the event was set without one. */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error* error, void* user_arg);
typedef void (*PJRT_Error_PayloadVisitor)(const char* key, size_t key_size, const char* value,
                                          size_t value_size, void* user_arg);

/* Key-value store of jobs with several processes; opaque here. */
typedef void (*PJRT_KeyValueGetCallback)(void);
typedef void (*PJRT_KeyValuePutCallback)(void);
typedef void (*PJRT_KeyValueTryGetCallback)(void);

typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;

/* Objects of these two kinds begin with a pointer to such a table. */
typedef struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error*);
  void (*message)(const PJRT_Error*, const char** message, size_t* message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error*);
  void (*for_each_payload)(const PJRT_Error*, PJRT_Error_PayloadVisitor visitor, void* user_arg);
} PJRT_Error_FunctionTable;
typedef struct PJRT_Memory_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  size_t instance_struct_size;
  void* (*get_user_data)(PJRT_Memory*, const void* key);
  void (*set_user_data)(PJRT_Memory*, const void* key, void* data, void (*destroy)(void*));
} PJRT_Memory_FunctionTable;

/* The argument structs: PJRT_Client_Compile_Args … */
#define SLOT(name, ...)                \
  typedef struct PJRT_##name##_Args {  \
    PJRT_HEAD                          \
    __VA_ARGS__                        \
  } PJRT_##name##_Args;
#include "c_api_slots.def"
#undef SLOT

typedef struct PJRT_Api_Version {
  PJRT_HEAD
  int major_version;
  int minor_version;
} PJRT_Api_Version;

typedef struct PJRT_Api {
  PJRT_HEAD
  PJRT_Api_Version pjrt_api_version;
#define SLOT(name, ...) PJRT_Error* (*PJRT_##name)(PJRT_##name##_Args*);
#include "c_api_slots.def"
#undef SLOT
} PJRT_Api;

const PJRT_Api* GetPjrtApi(void);

#ifdef __cplusplus
}
#endif
#endif /* BRAZE_PJRT_C_API_H_ */
