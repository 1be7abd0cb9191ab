// The processes that a run starts: this program, as a step or as a peer of one.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "frame/look.h"
#include "frame/progress.h"
#include "frame/record.h"
#include "frame/run.h"

namespace tutti::gpu {
namespace {

const Probe* FindProbe(std::string_view id) {
  if (id == LookProbe().id) return &LookProbe();
  for (const Section& section : Sections()) {
    for (const Probe* probe : section.probes) {
      if (probe->id == id) return probe;
    }
  }
  return nullptr;
}

// A fault of this process is an answer, not something to keep a gigabyte of core file of; and there is a descriptor for
// every slab.
void SetLimits() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int End() {
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace

int RunStep(const std::string& step) {
  SetLimits();
  JoinProgress("");
  const size_t first = step.find('/'), second = step.find('/', first + 1);
  const Probe* const probe = FindProbe(step.substr(first + 1, second - first - 1));
  if (probe == nullptr) return 1;
  for (const Step& candidate : probe->steps) {
    if (candidate.name != step.substr(second + 1)) continue;
    candidate.run(candidate.name);
    return End();
  }
  return 1;
}

int RunPeer(const std::string& role, const std::string& argument) {
  SetLimits();
  const std::string& step = Here().step;
  const size_t first = step.find('/'), second = step.find('/', first + 1);
  const Probe* const probe = FindProbe(step.substr(first + 1, second - first - 1));
  if (probe == nullptr) return 1;
  for (const Role& candidate : probe->roles) {
    if (candidate.name != role) continue;
    JoinProgress(candidate.name.data());
    GiveUpBy(kChannelFd);
    Channel channel{os::Fd(kChannelFd)};
    candidate.run(channel, argument);
    return End();
  }
  return 1;
}

}  // namespace tutti::gpu
