// The main program of tests beside a running daemon: NAME CONTROL [GTEST OPTIONS], with its CUDA_MPS_PIPE_DIRECTORY.
#pragma once

#include <string>

namespace tutti::fault {

extern std::string control;  // path of tutti-control; set before any test runs

}  // namespace tutti::fault
