// SPDX-License-Identifier: Apache-2.0
// Nothing: the target that test programs share their precompiled headers of (test/CMakeLists.txt).
