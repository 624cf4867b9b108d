// SPDX-License-Identifier: Apache-2.0
#include "codegen/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>

#include "base/status.h"

namespace braze::codegen {
namespace {

struct Search {
  uintptr_t address;
  std::string found;
};

// The build id among the notes at [at, at + size).
std::string id_in_notes(const char* at, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) n;
    std::memcpy(&n, at, sizeof(n));
    const size_t name = (n.n_namesz + 3) / 4 * size_t{4}, desc = (n.n_descsz + 3) / 4 * size_t{4};
    const size_t all = sizeof(n) + name + desc;
    if (all > size) break;
    if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && std::memcmp(at + sizeof(n), "GNU", 4) == 0)
      return std::string(at + sizeof(n) + name, n.n_descsz);
    at += all, size -= all;
  }
  return {};
}

int look(dl_phdr_info* info, size_t, void* data) {
  auto* s = static_cast<Search*>(data);
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    here |= p.p_type == PT_LOAD && s->address - (info->dlpi_addr + p.p_vaddr) < p.p_memsz;
  }
  if (!here) return 0;
  for (int i = 0; i < info->dlpi_phnum && s->found.empty(); ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type == PT_NOTE)
      s->found = id_in_notes(reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr), p.p_memsz);
  }
  return 1;
}

std::string find() {
  Search s{reinterpret_cast<uintptr_t>(&look), {}};
  dl_iterate_phdr(look, &s);
  if (!s.found.empty()) return s.found;
  Dl_info info;
  struct stat file;
  if (dladdr(reinterpret_cast<void*>(&look), &info) == 0 || !info.dli_fname ||
      stat(info.dli_fname, &file) != 0)
    return {};
  return str_cat(info.dli_fname, " ", file.st_size, " ", file.st_mtim.tv_sec, " ",
                 file.st_mtim.tv_nsec);
}

}  // namespace

const std::string& build_id() {
  static const std::string* const id = new std::string(find());  // never destroyed: used at exit, too
  return *id;
}

}  // namespace braze::codegen
