// SPDX-License-Identifier: Apache-2.0
// What TensorFlow 2.20 lacks on CPU: its RunPjRtExecutable reads the accelerator info of the device at hand
// without asking whether there is one, and a CPU device has none.
//
// With give_cpu_device_info CPU devices answer that one function with an info that says "tensors may be PJRT
// buffers", and every other caller as before.
//
// Invariant: memory of TensorFlow is written only if exactly one entry of the device class's table is the
// function to be replaced.
#pragma once

#include <string>

namespace braze::tf {

// `library` and `framework` are TensorFlow's two, `run` is the mangled name of RunPjRtExecutable. False and a
// reason if they are not as expected.
bool give_cpu_device_info(void* library, void* framework, const char* run, std::string* why);

}  // namespace braze::tf
