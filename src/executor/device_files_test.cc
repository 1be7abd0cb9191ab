#include "executor/device_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tutti::executor {
namespace {

class MissingDevices : public ::testing::Test {
 protected:
  MissingDevices() {
    folder_ = (std::filesystem::temp_directory_path() / "tutti-devices.XXXXXX").string();
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    files_ = {.folder = folder_, .program = folder_ + "/modprobe"};
    std::ofstream(files_.program) << "#!/bin/sh\necho \"$@\" >> " << folder_ << "/asked\n: > " << folder_
                                  << "/nvidia-uvm\n";
    std::filesystem::permissions(files_.program, std::filesystem::perms::owner_all);
  }
  ~MissingDevices() override { std::filesystem::remove_all(folder_); }

  std::string Asked() const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/asked").rdbuf();
    return text.str();
  }

  std::string folder_;
  DeviceFiles files_;
};

TEST_F(MissingDevices, AreMadeByTheDriversProgramOnce) {
  std::ofstream(folder_ + "/nvidiactl") << "";
  MakeDeviceFiles(files_);
  EXPECT_EQ(Asked(), "-c=0 -u\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/nvidia-uvm")) << "when it returns";
  MakeDeviceFiles(files_);
  EXPECT_EQ(Asked(), "-c=0 -u\n") << "all are there";
}

TEST_F(MissingDevices, StayMissingWithoutTheProgram) {
  std::filesystem::remove(files_.program);
  MakeDeviceFiles(files_);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/nvidia-uvm"));
}

}  // namespace
}  // namespace tutti::executor
