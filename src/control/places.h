// A daemon's directories: its pipe directory, by which clients and shells address it, and its log directory.
//
// The files of the pipe directory, as other programs know them:
//   control                       socket, 0666: clients and shells
//   control_privileged            socket, 0755: the same, for the daemon's own user only
//   control_lock                  0600: flock held for the life of the daemon; stays when it ends
//   log                           FIFO, 0777: a line written here appears in control.log
//   nvidia-cuda-mps-control.pid   0644: the daemon's process id
#pragma once

#include <string>

namespace tutti::control {

inline constexpr const char* kDefaultPipeDirectory = "/tmp/nvidia-mps";
inline constexpr const char* kDefaultPipeDirectory3 = "/run/nvidia-mps";  // of root's daemons with protocol 3
inline constexpr const char* kDefaultLogDirectory = "/var/log/nvidia-mps";

struct Places {
  std::string pipe_directory;
  std::string log_directory;

  std::string control_socket() const { return pipe_directory + "/control"; }
  std::string privileged_socket() const { return pipe_directory + "/control_privileged"; }
  std::string lock_file() const { return pipe_directory + "/control_lock"; }
  std::string log_fifo() const { return pipe_directory + "/log"; }
  std::string pid_file() const { return pipe_directory + "/nvidia-cuda-mps-control.pid"; }
  std::string control_log() const { return log_directory + "/control.log"; }
  std::string server_log() const { return log_directory + "/server.log"; }
};

// From CUDA_MPS_PIPE_DIRECTORY and CUDA_MPS_LOG_DIRECTORY; unset or empty means the default. For shells: the default is
// the directory in which a daemon answers, whatever its protocol.
Places PlacesFromEnvironment();
// The same for a daemon that is about to start.
Places PlacesForDaemon(int protocol);

}  // namespace tutti::control
