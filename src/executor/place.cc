#include "executor/place.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cuda/device_attribute.h"
#include "executor/link.h"
#include "os/thread.h"

namespace tutti::executor {
namespace {

constexpr uint64_t kMostImageBytes = 512ull << 20;

uint8_t BitsOf(bool writable) {
  return static_cast<uint8_t>(guest::kFenceReadable | (writable ? guest::kFenceWritable : 0));
}

uint32_t CapabilityOf(const Device& device) {
  const auto& attributes = device.info.attributes;
  return static_cast<uint32_t>(10 * attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] +
                               attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]);
}

Modules::Image PartsOf(std::span<const uint8_t> image, uint64_t text_bytes) {
  if (text_bytes == 0 || text_bytes > image.size()) return {.text = image, .code = image};
  return {.text = image.first(text_bytes), .code = image.subspan(text_bytes)};
}

template <typename Body>
Result<Body> DetailsOf(const Request& request) {
  ByteReader in(request.details);
  const auto body = in.Get<Body>();
  if (in.ok() && in.at_end()) return body;
  return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a request with other details");
}

}  // namespace

Result<std::unique_ptr<Place>> Place::Create(const Executor& executor, os::Message message) {
  TUTTI_ASSIGN(const Request request, ParseRequest(message.bytes));
  if (request.kind != RequestKind::kEnter || message.fds.size() != kPlaceFiles)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a client that does not come with its files");
  if ((request.flags & kCompiles) != 0) prctl(PR_SET_NAME, "tutti-jit");  // the main thread's, so the process's
  const int exchange = message.fds[static_cast<size_t>(PlaceFile::kExchange)].get();
  TUTTI_ASSIGN(os::Mapping mapping, os::Mapping::Shared(exchange, sizeof(Exchange)));
  return std::unique_ptr<Place>(new Place(executor, std::move(message.fds), std::move(mapping)));
}

Place::Place(const Executor& executor, std::vector<os::Fd> files, os::Mapping exchange)
    : executor_(executor),
      files_(std::move(files)),
      mapping_(std::move(exchange)),
      exchange_(reinterpret_cast<Exchange*>(mapping_.data())),
      fence_(*executor.vendor, executor.fence_memory),
      modules_(*executor.vendor, &fence_, CapabilityOf(*executor.device), executor.leftovers, file(PlaceFile::kSocket)),
      window_(*executor.vendor, executor.device->device, executor.context, exchange_, executor.zeros),
      arrays_(*executor.vendor),
      submitter_(*executor.vendor, &modules_, exchange_, file(PlaceFile::kBell), executor.context, executor.texts,
                 &fence_, &arrays_) {}

Status Place::Run() {
  if (!MakeCurrent()) {  // it has nothing yet, and the server is told by the end of its socket
    SayThatItIsOver();
    return {};
  }
  executor_.context->Add(exchange_);
  if (executor_.context->HasExcessLimits()) {  // others may have less than it counts on
    executor_.context->LowerLimits();
    executor_.leftovers->LookForLimits();
  }
  std::thread submits = os::TryStartThread("submit", [this] {
    if (MakeCurrent()) return submitter_.Run();
    shutdown(file(PlaceFile::kSocket), SHUT_RDWR);  // nothing would ever be done
  });
  if (submits.joinable()) {  // else the system has no room for it, and the server is told by the end of the place
    Serve();
    submitter_.Stop();
    submits.join();  // before kernels end that are cut short: nobody is told that they are done
    (void)fence_.Stop();  // one that fails is lost, as its kernels are
  }
  const Status closed = Close();
  executor_.context->Remove(exchange_);
  if (closed) SayThatItIsOver();
  executor_.leftovers->LookForLimits();
  return closed;
}

bool Place::MakeCurrent() {
  const Vendor& vendor = *executor_.vendor;
  const Status made = vendor.Check(vendor.cuCtxSetCurrent(executor_.device->context), "cuCtxSetCurrent");
  if (!made && vendor.has_said_the_end()) executor_.context->NoteFailure(made.error());
  return made.has_value();
}

// A process that is killed says nothing: what it had is there until it has ended.
void Place::SayThatItIsOver() { (void)!write(file(PlaceFile::kOver), "", 1); }

// In the reverse order of who uses what, but for modules, which may have to wait for what others run: nothing uses
// anything any more. What was withdrawn uses nothing of the client's, and may wait for long, for what others compute.
Status Place::Close() {
  if (submitter_.withdrawn()) {
    TUTTI_TRY(window_.Close());
    SayThatItIsOver();
  }
  Status first = submitter_.Close();
  for (const Status& closed :
       {fence_.Close(first.has_value()), arrays_.DestroyAll(), window_.Close(), modules_.UnloadAll()}) {
    if (!closed && first) first = closed;
  }
  return first;
}

// A request that cannot be read is the end, as the server's is.
void Place::Serve() {
  for (;;) {
    auto message = os::Receive(file(PlaceFile::kSocket));
    if (!message || message->bytes.empty()) return;
    const auto request = ParseRequest(message->bytes);
    if (!request) return;
    os::Fd given = message->fds.empty() ? os::Fd() : std::move(message->fds.front());
    os::Fd answered;
    Answer answer;
    if (const Status done = Do(*request, std::move(given), &answer, &answered); !done) {
      // Of a lost context, others' doing perhaps, the server is told as of one, and asks elsewhere.
      executor_.context->NoteFailure(done.error());
      if (executor_.context->lost()) continue;
      answer = {.status = done.error().code != 0 ? done.error().code : cuda::CUDA_ERROR_UNKNOWN,
                .text = done.error().text};
      answered.Reset();
    }
    const int fds[] = {answered.get()};
    if (!os::Send(file(PlaceFile::kSocket), Serialize(answer), {fds, answered ? size_t{1} : size_t{0}})) return;
  }
}

Status Place::Do(const Request& request, os::Fd given, Answer* answer, os::Fd* file) {
  switch (request.kind) {
    case RequestKind::kOpenWindow: return OpenWindow(request, std::move(given), &answer->value);
    case RequestKind::kFindAddresses: {
      TUTTI_ASSIGN(answer->value, window_.FindAddresses(request.bytes, request.address));
      return {};
    }
    case RequestKind::kAttachHost:
    case RequestKind::kMapMemory: return Map(request, given);
    case RequestKind::kMapSlab: {
      TUTTI_TRY(Map(request, given));
      if ((request.flags & kHandOut) == 0) return {};
      if (auto memory = window_.ExportSlab(request.address)) *file = std::move(*memory);
      return {};
    }
    case RequestKind::kUnmapSlab: return Unmap(request);
    case RequestKind::kExportSlab: {
      TUTTI_ASSIGN(*file, window_.ExportSlab(request.address));
      return {};
    }
    case RequestKind::kSetAccess: return SetAccess(request);
    case RequestKind::kClear: return window_.Clear(request.address, request.bytes);
    case RequestKind::kReadWord: {
      if (!fence_.Allows(request.address, request.bytes, false))
        return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "no memory is mapped there");
      TUTTI_ASSIGN(answer->value, window_.ReadWord(request.address, request.bytes));
      return {};
    }
    case RequestKind::kSetLimit: {
      TUTTI_ASSIGN(answer->value, executor_.context->SetLimit(exchange_, static_cast<cuda::CUlimit>(request.limit),
                                                              request.bytes, (request.flags & kMayNotWait) == 0));
      executor_.leftovers->LookForLimits();
      return {};
    }
    case RequestKind::kLoadModule: {
      TUTTI_ASSIGN(const os::Mapping image, os::Mapping::Constant(given.get(), kMostImageBytes));
      TUTTI_ASSIGN(Modules::Loaded loaded,
                   modules_.Load(request.module, PartsOf({image.data(), image.size()}, request.bytes),
                                 (request.flags & kAsItIs) == 0,
                                 {.most_bytes = request.host_bytes, .is_limit = (request.flags & kIsLimited) != 0}));
      answer->text = std::move(loaded.log);
      answer->value = loaded.state;
      answer->managed_bytes = loaded.managed_bytes;
      answer->other_bytes = loaded.other_bytes;
      TUTTI_ASSIGN(*file, os::CreateMemoryOf("tutti-module-info", module::Serialize(loaded.info)));
      return {};
    }
    case RequestKind::kPlaceManaged:
      return modules_.PlaceManaged(request.module, request.address, (request.flags & kWithContents) == 0);
    case RequestKind::kUnloadModule: {
      TUTTI_ASSIGN(const bool unloaded, modules_.Unload(request.module));
      answer->value = unloaded ? 0 : kStillLoaded;
      return {};
    }
    case RequestKind::kOccupancy: {
      TUTTI_ASSIGN(answer->value, modules_.BlocksPerSm(request.module, request.kernel, request.block_threads,
                                                       request.dynamic_shared_bytes));
      return {};
    }
    case RequestKind::kCreateArray: {
      TUTTI_ASSIGN(const auto shape, DetailsOf<wire::ArrayShape>(request));
      return arrays_.Create(request.address, shape);
    }
    case RequestKind::kDestroyArray: return arrays_.Destroy(request.address);
    case RequestKind::kCreateTexture: {
      TUTTI_ASSIGN(const auto texture, DetailsOf<wire::TextureCreateBody>(request));
      TUTTI_ASSIGN(answer->value, arrays_.CreateTexture(texture));
      return {};
    }
    case RequestKind::kDestroyTexture: return arrays_.DestroyTexture(request.address, (request.flags & kSurface) != 0);
    case RequestKind::kCompile: {
      TUTTI_ASSIGN(const os::Mapping text, os::Mapping::Constant(given.get(), kMostImageBytes));
      TUTTI_ASSIGN(const std::vector<uint8_t> code, Link(*executor_.vendor, {text.data(), text.size()}));
      TUTTI_ASSIGN(*file, os::CreateMemoryOf("tutti-code", code));
      return {};
    }
    case RequestKind::kEnter: break;
  }
  return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "a request of unknown kind");
}

Status Place::OpenWindow(const Request& request, os::Fd host_file, uint64_t* base) {
  TUTTI_ASSIGN(*base, window_.Open(std::move(host_file), request.host_bytes, request.bytes, request.address));
  // Our own driver reaches the host part only where the device does (executor/window.h), and makes its copies in order.
  if (!executor_.vendor->ours) submitter_.OpenHost(*base, request.host_bytes);
  if ((request.flags & kFenced) == 0) return {};
  return fence_.Open(*base, request.host_bytes, request.bytes);
}

Status Place::Map(const Request& request, const os::Fd& given) {
  const auto [address, bytes] = std::pair(request.address, request.bytes);
  const bool writable = (request.flags & kReadOnly) == 0;
  if (request.kind == RequestKind::kAttachHost) {
    TUTTI_TRY(window_.AttachHost(address, bytes));
  } else if (request.kind == RequestKind::kMapSlab) {
    TUTTI_TRY(window_.MapSlab(address, bytes, (request.flags & kShareable) != 0));
  } else {
    TUTTI_TRY(window_.MapMemory(address, bytes, given, writable));
  }
  const Status noted = fence_.SetMemory(address, bytes, BitsOf(writable));
  if (!noted && request.kind != RequestKind::kAttachHost) (void)window_.UnmapSlab(address, bytes);
  return noted;
}

// A kernel that has looked at the map may use what it has found until it ends.
Status Place::Unmap(const Request& request) {
  const auto [address, bytes] = std::pair(request.address, request.bytes);
  if (!fence_.is_open()) return window_.UnmapSlab(address, bytes);
  return submitter_.WhileNothingRuns(file(PlaceFile::kSocket), [&]() -> Status {
    TUTTI_TRY(fence_.SetMemory(address, bytes, 0));
    return window_.UnmapSlab(address, bytes);
  });
}

Status Place::SetAccess(const Request& request) {
  const auto [address, bytes] = std::pair(request.address, request.bytes);
  const bool writable = (request.flags & kReadOnly) == 0;
  if (!fence_.is_open()) return window_.SetAccess(address, bytes, writable);
  return submitter_.WhileNothingRuns(file(PlaceFile::kSocket), [&]() -> Status {
    if (!writable) TUTTI_TRY(fence_.SetMemory(address, bytes, BitsOf(writable)));
    TUTTI_TRY(window_.SetAccess(address, bytes, writable));
    return writable ? fence_.SetMemory(address, bytes, BitsOf(writable)) : Status{};
  });
}

}  // namespace tutti::executor
