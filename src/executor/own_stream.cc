#include "executor/own_stream.h"

namespace tutti::executor {

using namespace cuda;

// Lower numbers are higher priorities. A context without priorities says 0 of both ends.
tutti::Result<CUstream> CreateOwnStream(const Vendor& vendor) {
  int least = 0, most = 0;
  TUTTI_TRY(vendor.Check(vendor.cuCtxGetStreamPriorityRange(&least, &most), "cuCtxGetStreamPriorityRange"));
  CUstream stream = nullptr;
  TUTTI_TRY(vendor.Check(vendor.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, most),
                         "cuStreamCreateWithPriority"));
  return stream;
}

}  // namespace tutti::executor
