// SPDX-License-Identifier: Apache-2.0
#include "codegen/archive.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"

namespace braze::codegen {

Result<std::string> static_library(std::string_view name, const std::vector<std::string>& objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i) names.push_back(str_cat(name, ".", i, ".o"));
  std::vector<llvm::NewArchiveMember> members;
  for (size_t i = 0; i < objects.size(); ++i)
    members.emplace_back(llvm::MemoryBufferRef(objects[i], names[i]));
  auto buffer = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                           /*Deterministic=*/true, /*Thin=*/false);
  if (!buffer) return internal("static library: ", llvm::toString(buffer.takeError()));
  return (*buffer)->getBuffer().str();
}

}  // namespace braze::codegen
