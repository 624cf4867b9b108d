// SPDX-License-Identifier: Apache-2.0
// A PJRT host in plain C: loads a plugin, compiles a StableHLO text, runs it on small arrays and prints
// the result. Uses nothing but the header of the PJRT C API.
//
//   pjrt_host libbraze_pjrt.so program.mlir
//
// The program's arguments must be f32 arrays of rank 0 or 1 with 8 elements; argument k is filled with
// k + 1, and each array counts up by one.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_api.h"

static const PJRT_Api* api;

static void check(PJRT_Error* error) {
  if (!error) return;
  PJRT_Error_Message_Args m = {sizeof(m), NULL, error, NULL, 0};
  api->PJRT_Error_Message(&m);
  fprintf(stderr, "error: %.*s\n", (int)m.message_size, m.message);
  PJRT_Error_Destroy_Args d = {sizeof(d), NULL, error};
  api->PJRT_Error_Destroy(&d);
  exit(1);
}

static void await_event(PJRT_Event* event) {
  PJRT_Event_Await_Args w = {sizeof(w), NULL, event};
  check(api->PJRT_Event_Await(&w));
  PJRT_Event_Destroy_Args d = {sizeof(d), NULL, event};
  check(api->PJRT_Event_Destroy(&d));
}

static char* read_file(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  if (!f) {
    perror(path);
    exit(1);
  }
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char* data = malloc(*size + 1);
  if (!data || fread(data, 1, *size, f) != *size) exit(1);
  data[*size] = 0;
  fclose(f);
  return data;
}

static PJRT_Buffer* put(PJRT_Client* client, PJRT_Device* device, const float* data, size_t rank) {
  const int64_t dims[1] = {8};
  PJRT_Client_BufferFromHostBuffer_Args a = {sizeof(a)};
  a.client = client;
  a.data = data;
  a.type = PJRT_Buffer_Type_F32;
  a.dims = dims;
  a.num_dims = rank;
  a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  a.device = device;
  check(api->PJRT_Client_BufferFromHostBuffer(&a));
  await_event(a.done_with_host_buffer);
  return a.buffer;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: pjrt_host PLUGIN PROGRAM\n");
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const PJRT_Api* (*get)(void);
  *(void**)&get = dlsym(library, "GetPjrtApi");
  if (!get || !(api = get())) return 1;
  printf("PJRT %d.%d\n", api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version);

  PJRT_Client_Create_Args create = {sizeof(create)};
  check(api->PJRT_Client_Create(&create));
  PJRT_Client_AddressableDevices_Args devices = {sizeof(devices), NULL, create.client};
  check(api->PJRT_Client_AddressableDevices(&devices));

  PJRT_Program program = {sizeof(program)};
  program.code = read_file(argv[2], &program.code_size);
  program.format = "mlir";
  program.format_size = 4;
  PJRT_Client_Compile_Args compile = {sizeof(compile)};
  compile.client = create.client;
  compile.program = &program;
  compile.compile_options = "";
  check(api->PJRT_Client_Compile(&compile));

  // saxpy.mlir: a scalar and two arrays.
  float data[3][8];
  PJRT_Buffer* arguments[3];
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 8; ++i) data[k][i] = (float)(k + 1 + i);
    arguments[k] = put(create.client, devices.addressable_devices[0], data[k], k > 0);
  }
  PJRT_Buffer* const* argument_lists[1] = {arguments};
  PJRT_Buffer* results[1] = {NULL};
  PJRT_Buffer** result_lists[1] = {results};
  PJRT_ExecuteOptions options = {sizeof(options)};
  PJRT_LoadedExecutable_Execute_Args run = {sizeof(run)};
  run.executable = compile.executable;
  run.options = &options;
  run.argument_lists = (PJRT_Buffer***)argument_lists;
  run.num_devices = 1;
  run.num_args = 3;
  run.output_lists = result_lists;
  check(api->PJRT_LoadedExecutable_Execute(&run));

  float out[8];
  PJRT_Buffer_ToHostBuffer_Args fetch = {sizeof(fetch), NULL, results[0], NULL, out, sizeof(out), NULL};
  check(api->PJRT_Buffer_ToHostBuffer(&fetch));
  await_event(fetch.event);
  for (int i = 0; i < 8; ++i) printf("%g%c", out[i], i == 7 ? '\n' : ' ');

  PJRT_Buffer* all[4] = {arguments[0], arguments[1], arguments[2], results[0]};
  for (int k = 0; k < 4; ++k) {
    PJRT_Buffer_Destroy_Args d = {sizeof(d), NULL, all[k]};
    check(api->PJRT_Buffer_Destroy(&d));
  }
  PJRT_LoadedExecutable_Destroy_Args unload = {sizeof(unload), NULL, compile.executable};
  check(api->PJRT_LoadedExecutable_Destroy(&unload));
  PJRT_Client_Destroy_Args close = {sizeof(close), NULL, create.client};
  check(api->PJRT_Client_Destroy(&close));
  free(program.code);
  return 0;
}
