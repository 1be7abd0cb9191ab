#include "frame/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tutti::gpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelLog, SaysWhatTheGpusModulesHaveSaidSince) {
  const std::string path = testing::TempDir() + "/kmsg." + std::to_string(getpid());
  std::ofstream file(path);
  file << "6,1,100,-;NVRM: Xid (PCI:0000:01:00): 13, long ago\n" << std::flush;
  KernelLog log(path);
  ASSERT_EQ(log.problem(), "");
  EXPECT_THAT(log.News(), IsEmpty()) << "what was there before";
  file << "4,2,200,-;usb 1-1: new device\n 6,x;SUBSYSTEM=nvidia\n3,3,300,-;NVRM: Xid (PCI:0000:01:00): 31, pid=7\n"
          "4,4,400,-;NVRM: and"
       << std::flush;
  EXPECT_THAT(log.News(), ElementsAre("NVRM: Xid (PCI:0000:01:00): 31, pid=7"));
  file << " more\n" << std::flush;
  EXPECT_THAT(log.News(), ElementsAre("NVRM: and more")) << "once";
  unlink(path.c_str());
}

TEST(KernelLog, WhoMayNotReadItIsToldSo) {
  KernelLog log("/proc/nowhere/kmsg");
  EXPECT_EQ(log.problem(), "/proc/nowhere/kmsg: No such file or directory");
  EXPECT_THAT(log.News(), IsEmpty());
}

}  // namespace
}  // namespace tutti::gpu
