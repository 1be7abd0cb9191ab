#include "cuda/result.h"

namespace tutti::cuda {

const char* ResultName(int result) {
  switch (result) {
#define X(name, value) \
  case value: return #name;
#include "cuda/result.def"
#undef X
  }
  return nullptr;
}

}  // namespace tutti::cuda
