#include "frame/tutti_service.h"

#include <sys/stat.h>
#include <unistd.h>

#include "frame/files.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/talk.h"

namespace tutti::gpu {
namespace {

// Where Tutti is: in the bundle, or in the build folder that this program's is part of.
std::string Installation() {
  for (const std::string& folder : {Here().data + "/tutti", Here().data + "/.."}) {
    if (access((folder + "/bin/tutti-control").c_str(), X_OK) == 0) return folder;
  }
  return "";
}

// From step to step.
std::string UnconfinedFile() { return Here().scratch + "/executors-unconfined"; }

}  // namespace

std::string TuttiService::Unconfined() { return ReadFile(UnconfinedFile()); }
void TuttiService::SetUnconfined(const std::string& parts) { WriteFile(UnconfinedFile(), parts); }
bool TuttiService::is_unconfined_known() { return access(UnconfinedFile().c_str(), F_OK) == 0; }

TuttiService::TuttiService(const std::string& isolation, bool trust, const std::string& unconfined) {
  const std::string folder = Installation();
  if (folder.empty()) GiveUp(Outcome::kLacks, "not here: tutti-control");
  programs_ = folder + "/bin";
  if (isolation == "shared" && !trust && access((programs_ + "/tutti-fence").c_str(), X_OK) != 0)
    GiveUp(Outcome::kLacks, "not here: tutti-fence");
  library_ = folder + "/lib";
  const std::string own = Here().scratch + "/tutti-" + std::to_string(getpid());
  pipes_ = own + "/pipe";
  logs_ = Here().scratch + "/log";  // its logs are kept with those of the steps
  for (const std::string& made : {own, pipes_}) mkdir(made.c_str(), 0700);
  daemon_ = {{"CUDA_MPS_PIPE_DIRECTORY", pipes_},
             {"CUDA_MPS_LOG_DIRECTORY", logs_},
             {"TUTTI_DEVICE", "cuda"},
             {"TUTTI_VENDOR_LIBCUDA", Here().vendor},
             {"TUTTI_ISOLATION", isolation},
             {"TUTTI_TRUST", trust ? "1" : "0"},
             {"TUTTI_CACHE_DIR", own + "/code"},
             {"TUTTI_EXECUTORS_UNCONFINED", unconfined}};
  // What not every machine has of the libraries that the server needs.
  if (const std::string beside = folder + "/system"; access(beside.c_str(), X_OK) == 0)
    daemon_.emplace_back("LD_LIBRARY_PATH", beside);
  bool well = false;
  const std::string said = Talk(programs_ + "/tutti-control", {"-d"}, "", daemon_, 10, &well);
  if (!well) GiveUp(Outcome::kFailed, "tutti-control -d failed: " + said);
}

TuttiService::~TuttiService() {
  bool well = false;
  Talk(programs_ + "/tutti-control", {}, "quit -t 1\n", daemon_, 6, &well);
}

Peer::Environment TuttiService::Client() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", pipes_},
          {"CUDA_MPS_LOG_DIRECTORY", logs_},
          {"TUTTI_GPU_VENDOR", library_ + "/libcuda.so.1"},
          {"LD_LIBRARY_PATH", library_}};
}

}  // namespace tutti::gpu
