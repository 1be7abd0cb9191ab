#include "client/module/linker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"
#include "client/context/device.h"
#include "client/module/image.h"
#include "image/image_list.h"
#include "image/ptx_selection.h"
#include "os/fd.h"

namespace tutti::client {

constinit Pool<Linker, 4096> Linker::pool_;

int Linker::Destroy(Linker* linker) {
  if (!pool_.Retire(linker)) return cuda::CUDA_ERROR_INVALID_HANDLE;
  pool_.Delete(linker);
  return cuda::CUDA_SUCCESS;
}

int Linker::Add(cuda::CUjitInputType type, const void* data, size_t bytes) {
  if (data == nullptr || bytes < sizeof(uint32_t)) return cuda::CUDA_ERROR_INVALID_VALUE;
  std::vector<uint8_t> input;
  if (type == cuda::CU_JIT_INPUT_PTX) {
    const auto* text = static_cast<const uint8_t*>(data);
    input.assign(text, text + strnlen(static_cast<const char*>(data), bytes));
  } else if (type == cuda::CU_JIT_INPUT_FATBINARY) {
    CU_ASSIGN(const ImageParts parts, FindImage(data));
    if (parts.front().data() == data && parts.front().size() > bytes) return cuda::CUDA_ERROR_INVALID_IMAGE;
    for (const auto part : parts) input.insert(input.end(), part.begin(), part.end());
  } else if (type == cuda::CU_JIT_INPUT_CUBIN) {
    const std::span cubin(static_cast<const uint8_t*>(data), bytes);
    // A GPU's driver links machine code, and says what is wrong with it as it is loaded.
    const int32_t known = Device::Find(0)->Has(wire::kDeviceMachineCode) ? cuda::CUDA_ERROR_NO_BINARY_FOR_GPU : 0;
    if (const auto ptx = image::SelectPtx(cubin); !ptx && ptx.error().code != known) {
      log::Error("the linker cannot take a cubin: {}", ptx.error().text);
      return ptx.error().code;
    }
    input.assign(cubin.begin(), cubin.end());
  } else {
    log::Error(
        "the linker takes PTX, fatbins and cubins that carry PTX; an input of type {} holds machine code or NVVM IR "
        "only",
        type);
    return cuda::CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::lock_guard lock(mutex_);
  inputs_.push_back(std::move(input));
  return cuda::CUDA_SUCCESS;
}

int Linker::AddFile(cuda::CUjitInputType type, const char* path) {
  CU_ASSIGN(const std::vector<uint8_t> bytes, ReadFile(path));
  return Add(type, bytes.data(), bytes.size());
}

std::span<const uint8_t> Linker::Complete() {
  std::lock_guard lock(mutex_);
  if (inputs_.empty()) return {};
  image_ = image::PackImageList(ImageParts(inputs_.begin(), inputs_.end()));
  return image_;
}

Answer<std::vector<uint8_t>> ReadFile(const char* path) {
  if (path == nullptr) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const os::Fd file(open(path, O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Refuse(cuda::CUDA_ERROR_FILE_NOT_FOUND);
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size) + 1);
  size_t have = 0;
  while (have + 1 < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + have, bytes.size() - 1 - have);
    if (got <= 0) return Refuse(cuda::CUDA_ERROR_FILE_NOT_FOUND);
    have += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace tutti::client
