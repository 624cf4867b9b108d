// SPDX-License-Identifier: Apache-2.0
#include "pjrt/layouts.h"

#include <map>
#include <mutex>
#include <string>

#include "pjrt/buffer.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"

namespace braze::pjrt {
namespace {

// One object per text, for ever: hosts disagree on who frees the layouts of executables.
struct MemoryLayout {
  std::string text;
};

std::string text_of(size_t rank, DimSpan order) {
  std::string out = "{";
  for (size_t i = 0; i < rank; ++i) {
    if (i) out += ',';
    out += str_cat(order.empty() ? static_cast<int64_t>(rank - 1 - i) : order[i]);
  }
  return out + "}";
}

MemoryLayout* layout_of(size_t rank, DimSpan order) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, MemoryLayout*>;
  std::string text = text_of(rank, order);
  std::lock_guard<std::mutex> lock(mutex);
  MemoryLayout*& l = (*known)[text];
  if (!l) l = new MemoryLayout{std::move(text)};
  return l;
}

struct LayoutArgs {  // of Destroy
  PJRT_HEAD
  MemoryLayout* layout;
};
struct SerializeArgs {
  PJRT_HEAD
  MemoryLayout* layout;
  const char* bytes;
  size_t size;
  void* serialized;
  void (*deleter)(void*);
};
struct DefaultArgs {
  PJRT_HEAD
  void* client_or_topology;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t rank;
  MemoryLayout* layout;
};
struct BufferArgs {
  PJRT_HEAD
  PJRT_Buffer* buffer;
  MemoryLayout* layout;
};
struct ExecutableArgs {
  PJRT_HEAD
  PJRT_Executable* executable;
  size_t count;
  MemoryLayout** layouts;  // in memory of the callee
};

PJRT_Error* destroy(LayoutArgs*) { return nullptr; }
PJRT_Error* serialize(SerializeArgs* a) {
  a->bytes = a->layout->text.data();
  a->size = a->layout->text.size();
  a->serialized = nullptr;
  a->deleter = [](void*) {};
  return nullptr;
}
PJRT_Error* default_layout(DefaultArgs* a) {
  a->layout = layout_of(a->rank, {});
  return nullptr;
}
PJRT_Error* buffer_layout(BufferArgs* a) {
  a->layout = layout_of(a->buffer->dims.size(), a->buffer->layout);
  return nullptr;
}

void give(const std::vector<Shape>& shapes, std::vector<void*>* kept, std::mutex& mutex,
          ExecutableArgs* a) {
  std::lock_guard<std::mutex> lock(mutex);
  if (kept->empty())
    for (const Shape& s : shapes) kept->push_back(layout_of(s.dims.size(), s.layout));
  a->count = kept->size();
  a->layouts = reinterpret_cast<MemoryLayout**>(kept->data());
}
PJRT_Error* result_layouts(ExecutableArgs* a) {
  Compiled& c = *a->executable->compiled;
  give(c.program->facts().results, &c.result_layouts, c.mutex, a);
  return nullptr;
}
PJRT_Error* argument_layouts(ExecutableArgs* a) {
  Compiled& c = *a->executable->compiled;
  give(c.program->facts().arguments, &c.argument_layouts, c.mutex, a);
  return nullptr;
}

struct LayoutsExtension {
  PJRT_Extension_Base base;
  PJRT_Error* (*destroy)(LayoutArgs*);
  PJRT_Error* (*serialize)(SerializeArgs*);
  PJRT_Error* (*client_default)(DefaultArgs*);
  PJRT_Error* (*buffer)(BufferArgs*);
  PJRT_Error* (*topology_default)(DefaultArgs*);
  PJRT_Error* (*results)(ExecutableArgs*);
  PJRT_Error* (*arguments)(ExecutableArgs*);
};

}  // namespace

PJRT_Extension_Base* layouts_extension(PJRT_Extension_Base* next) {
  static LayoutsExtension e = {{sizeof(LayoutsExtension), PJRT_Extension_Type_Layouts, nullptr},
                               destroy, serialize, default_layout, buffer_layout,
                               default_layout, result_layouts, argument_layouts};
  e.base.next = next;
  return &e.base;
}

}  // namespace braze::pjrt
