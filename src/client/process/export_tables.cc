#include "client/process/export_tables.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/context/local_storage.h"
#include "client/context/stream.h"
#include "client/module/image.h"
#include "client/module/module.h"
#include "client/process/enter.h"
#include "client/process/integrity.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

using Slot = const void*;
template <typename Function>
Slot Entry(Function* function) {
  return reinterpret_cast<Slot>(function);
}
Slot Bytes(size_t slots) { return reinterpret_cast<Slot>(slots * sizeof(Slot)); }

// Slots of unknown purpose.
CUresult NotKnown() { return CUDA_ERROR_NOT_SUPPORTED; }

template <typename Body>
CUresult Guard(const char* name, Body body) {
  return Enter<ApiClass::local>(name, body);
}

// --- The runtime's own interface.

CUresult PrimaryOf(CUcontext* context, CUdevice ordinal) {
  return Guard("table:PrimaryOf", [&]() -> CUresult {
    const Device* device = Device::Find(ordinal);
    if (device == nullptr || context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = device->primary().handle();
    return CUDA_SUCCESS;
  });
}

CUresult LoadImage(CUmodule* module, const void* image) {
  return Guard("table:LoadImage", [&]() -> CUresult {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CU_ASSIGN(Context* const context, UsableContext());
    CU_ASSIGN(const ImageParts parts, FindImage(image));
    CU_ASSIGN(Module* const loaded, Module::Load(*context, JoinParts(parts), {}, image));
    *module = loaded->handle();
    return CUDA_SUCCESS;
  });
}
CUresult LoadWrapper(CUmodule* module, const void* wrapper) { return LoadImage(module, wrapper); }
CUresult LoadWrapperEx(CUmodule* module, const void* wrapper, void*, void*, unsigned) {
  return LoadImage(module, wrapper);
}
CUresult LoadFatbin(const void* fatbin, CUmodule* module, void*, void*, unsigned) { return LoadImage(module, fatbin); }
void Ignore(size_t) {}
CUresult LoadCompilers() { return CUDA_SUCCESS; }

const Slot kRuntimeInterface[13] = {Bytes(13),           Entry(LoadWrapper), Entry(PrimaryOf),     Entry(NotKnown),
                                    Entry(NotKnown),     Entry(NotKnown),    Entry(LoadWrapperEx), Entry(Ignore),
                                    Entry(LoadFatbin),   Entry(NotKnown),    Entry(NotKnown),      Entry(NotKnown),
                                    Entry(LoadCompilers)};

// --- Profiler hooks: words that stay zero, since no callback is registered.

void CallbackWords(void** words, size_t* count) {
  static uint32_t none[1024];
  *words = none;
  *count = std::size(none);
}
void MoreCallbackWords(void** words, size_t* count) {
  static uint32_t none[14];
  *words = none;
  *count = std::size(none);
}

const Slot kCallbackHooks[7] = {Bytes(7),        Entry(NotKnown), Entry(CallbackWords),    Entry(NotKnown),
                                Entry(NotKnown), Entry(NotKnown), Entry(MoreCallbackWords)};

// --- The current context, for libraries that bypass profiler hooks.

CUresult CurrentUnhooked(CUcontext* context) {
  if (Gate::status() != 0) return Gate::status();
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(current_context);
  return CUDA_SUCCESS;
}

const Slot kToolsTls[4] = {Bytes(4), Entry(NotKnown), Entry(CurrentUnhooked), Entry(NotKnown)};

CUresult ContextId(CUcontext handle, uint64_t* id) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = context->id();
  return CUDA_SUCCESS;
}

// The stream behind a handle of the API, default streams included, and its number.
CUresult StreamBehind(CUcontext handle, CUstream stream, CUstream* found, int per_thread) {
  return Guard("table:StreamBehind", [&]() -> CUresult {
    Context* context = Context::Find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool standard = reinterpret_cast<uintptr_t>(stream) <= kStreamPerThreadHandle;
    Stream* const behind = !standard         ? Stream::Find(stream)
                           : per_thread != 0 ? PerThreadStream(*context)
                                             : context->legacy();
    if (behind == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *found = behind->handle();
    return CUDA_SUCCESS;
  });
}

CUresult StreamId(CUcontext, CUstream stream, uint64_t* id) {
  return Guard("table:StreamId", [&]() -> CUresult {
    Stream* const behind = Stream::Find(stream);
    if (behind == nullptr || id == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *id = behind->id();
    return CUDA_SUCCESS;
  });
}

// The table's real length is unknown; these are the functions that libraries call.
const std::array<Slot, 64> kToolsContext = [] {
  std::array<Slot, 64> slots;
  slots.fill(Entry(NotKnown));
  slots[0] = Bytes(slots.size());
  slots[4] = Entry(ContextId);
  slots[39] = Entry(StreamId);
  slots[51] = Entry(StreamBehind);
  return slots;
}();

// --- A query that cuFFT makes before it loads code. Its meaning is unknown; after the answer 1 cuFFT continues, and
// what it then tries to load shows what it lacks here.

int GoOn() { return 1; }

const Slot kAdmission[8] = {Bytes(8),        Entry(NotKnown), Entry(NotKnown), Entry(NotKnown),
                            Entry(NotKnown), Entry(NotKnown), Entry(NotKnown), Entry(GoOn)};

// --- Context-local storage. `get` is called by nearly every runtime call.

Context* Named(CUcontext handle) {
  return Context::Find(handle != nullptr ? static_cast<void*>(handle) : current_context);
}

CUresult StoragePut(CUcontext handle, void* key, void* value, LocalStorage::Destructor destructor) {
  return Guard("table:StoragePut", [&]() -> CUresult {
    Context* context = Named(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return context->local_storage().Put(key, value, destructor) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult StorageDelete(CUcontext handle, void* key) {
  return Guard("table:StorageDelete", [&]() -> CUresult {
    Context* context = Named(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return context->local_storage().Erase(key) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult StorageGet(void** value, CUcontext handle, void* key) {
  if (Gate::status() != 0) [[unlikely]]
    return Gate::status();
  Context* context = Named(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  void* const found = context->local_storage().Get(key);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *value = found;
  return CUDA_SUCCESS;
}

const Slot kLocalStorage[4] = {Entry(StoragePut), Entry(StorageDelete), Entry(StorageGet), nullptr};

// --- Questions about contexts, and the self-test.

CUresult CheckContext(CUcontext, unsigned* word, const void**) {
  *word = 0;
  return CUDA_SUCCESS;
}
unsigned Zero() { return 0; }

const Slot kContextChecks[4] = {Bytes(4), Entry(NotKnown), Entry(CheckContext), Entry(Zero)};

CUresult IntegrityCheck(unsigned version, uint64_t unix_seconds, uint64_t result[2]) {
  return Guard("table:IntegrityCheck", [&]() -> CUresult {
    IntegrityAnswer(version, unix_seconds, reinterpret_cast<uint64_t>(&IntegrityCheck), result);
    return CUDA_SUCCESS;
  });
}

const Slot kIntegrityCheck[3] = {Bytes(3), Entry(IntegrityCheck), Entry(NotKnown)};

struct Table {
  CUuuid id;
  const Slot* slots;
};

const Table kTables[] = {
    {{{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9}},
     kRuntimeInterface},
    {{{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66}},
     kCallbackHooks},
    {{{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc}}, kToolsTls},
    {{{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2}},
     kToolsContext.data()},
    {{{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e}}, kAdmission},
    {{{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93}}, kLocalStorage},
    {{{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e}},
     kContextChecks},
    {{{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}},
     kIntegrityCheck},
};

}  // namespace

const void* FindExportTable(const CUuuid& id) {
  for (const Table& table : kTables) {
    if (std::memcmp(&table.id, &id, sizeof id) == 0) return table.slots;
  }
  return nullptr;
}

const void* RuntimeInterfaceTable() { return kRuntimeInterface; }
const void* IntegrityCheckTable() { return kIntegrityCheck; }

}  // namespace tutti::client
