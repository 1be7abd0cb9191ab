#include "compiler/testing/test_module.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace tutti::compiler {

TestModule::TestModule(std::unique_ptr<ImageCompiler> compiler, CompileOptions options, std::span<uint8_t> place)
    : compiler_(std::move(compiler)), options_(std::move(options)) {
  const module::ModuleIndex& index = compiler_->index();
  if (place.empty()) {
    segment_.resize(index.segment_bytes + index.segment_alignment);
    place = segment_;
  }
  const auto start = reinterpret_cast<uint64_t>(place.data());
  const size_t skipped = (index.segment_alignment - start % index.segment_alignment) % index.segment_alignment;
  TUTTI_CHECK(skipped + index.segment_bytes <= place.size());
  segment_base_ = place.data() + skipped;
  std::copy(index.image.begin(), index.image.end(), segment_base_);
  for (const module::Relocation& relocation : index.relocations) {
    const uint64_t value = relocation.kind == module::Relocation::Kind::kFunction
                               ? module::FunctionAddress(static_cast<uint32_t>(relocation.addend))
                               : reinterpret_cast<uint64_t>(segment_base_) + relocation.addend;
    std::memcpy(segment_base_ + relocation.offset, &value, sizeof value);
  }
}

Result<TestModule> TestModule::Open(const std::string& image, CompileOptions options, std::span<uint8_t> place) {
  TUTTI_ASSIGN(auto compiler, ImageCompiler::Open({reinterpret_cast<const uint8_t*>(image.data()), image.size()}));
  return TestModule(std::move(compiler), std::move(options), place);
}

Result<TestModule> TestModule::OpenFile(const std::string& path, CompileOptions options) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FailErrno(path);
  return Open(std::string(std::istreambuf_iterator<char>(file), {}), std::move(options));
}

Result<const LoadedKernel*> TestModule::Kernel(const std::string& kernel, const std::array<uint32_t, 3>& block) {
  const auto key = std::pair(kernel, block);
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return &found->second;
  CompileOptions options = options_;
  options.block = block;
  TUTTI_ASSIGN(const std::vector<uint8_t> bytes, compiler_->Compile(kernel, options));
  TUTTI_ASSIGN(LoadedKernel loaded, LoadedKernel::Load(bytes));
  return &kernels_.emplace(key, std::move(loaded)).first->second;
}

Result<GridResult> TestModule::Run(const std::string& kernel, GridLaunch launch) {
  TUTTI_ASSIGN(const LoadedKernel* loaded, Kernel(kernel, launch.block));
  launch.module_base = reinterpret_cast<uint64_t>(segment_base_);
  launch.params.resize(std::max<size_t>(launch.params.size(), loaded->descriptor().param_bytes));
  return RunGrid(loaded->descriptor(), launch);
}

void* TestModule::Variable(const std::string& name) const {
  for (const module::SegmentVariable& variable : index().variables) {
    if (variable.name == name) return segment_base_ + variable.offset;
  }
  return nullptr;
}

}  // namespace tutti::compiler
