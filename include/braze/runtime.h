/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program compiled ahead of time (`braze compile`) asks of whoever runs it: threads and library calls.
 *
 * Its function takes a braze_runtime, or a null pointer: then it runs on the caller's thread, and a program that
 * sorts, transforms or factorises fails with BRAZE_NEEDS_RUNTIME. libbraze_runtime, which holds no compiler, has a
 * runtime with threads of its own; a host with a thread pool can fill in a braze_runtime itself.
 *
 * Plain C. Nothing here prints, aborts or throws.
 */
#ifndef BRAZE_RUNTIME_H
#define BRAZE_RUNTIME_H

#include <stdint.h>

#define BRAZE_OK 0
#define BRAZE_FAILED 1        /* last_error tells why */
#define BRAZE_NEEDS_RUNTIME 2 /* a library call without a runtime */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braze_runtime braze_runtime;

/* Some items of a kernel: [begin, end). `scratch`: memory of the thread that runs it. */
typedef void braze_phase(char** buffers, int64_t begin, int64_t end, char* scratch);

struct braze_runtime {
  int32_t version; /* 1 */
  int32_t threads; /* that launch uses, at least 1 */
  /* Runs phase over [0, items), cut anywhere, with any cuts on any of the threads; returns when all is done.
   * Thread t (from 0) has scratch + t * scratch_bytes. `grain`: the fewest items worth another thread. */
  void (*launch)(const braze_runtime* runtime, braze_phase* phase, char** buffers, int64_t items, int64_t grain,
                 char* scratch, int64_t scratch_bytes);
  /* Runs a library call. `call` is a program of one instruction as text; *state is the callee's, null at
   * first. A pointer per array. 0, or BRAZE_FAILED. */
  int32_t (*library)(const braze_runtime* runtime, const char* call, void** state, char* const* operands,
                     char* const* results);
  /* Why the last call of `library` on this thread failed; valid until the next. */
  const char* (*last_error)(const braze_runtime* runtime);
};

/* Of libbraze_runtime: one thread per core this process may use; and one of so many threads. A runtime may be
 * used by several programs and threads at once. braze_runtime_create returns null if there is no memory. */
const braze_runtime* braze_default_runtime(void);
braze_runtime* braze_runtime_create(int32_t threads);
void braze_runtime_destroy(braze_runtime* runtime);

#ifdef __cplusplus
}
#endif
#endif
