// The handlers of all control commands; table.cc names and lists them.
#pragma once

#include <string>

#include "daemon/control/command.h"

namespace tutti::daemon::commands {

void GetServerList(const CommandCall& call);
void GetServerStatus(const CommandCall& call);
void StartServer(const CommandCall& call);
void ShutdownServer(const CommandCall& call);
void GetClientList(const CommandCall& call);
void GetDeviceClientList(const CommandCall& call);
void TerminateClient(const CommandCall& call);
void Ps(const CommandCall& call);
void SetDefaultActiveThreadPercentage(const CommandCall& call);
void GetDefaultActiveThreadPercentage(const CommandCall& call);
void SetActiveThreadPercentage(const CommandCall& call);
void GetActiveThreadPercentage(const CommandCall& call);
void SetDefaultDevicePinnedMemLimit(const CommandCall& call);
void GetDefaultDevicePinnedMemLimit(const CommandCall& call);
void SetDevicePinnedMemLimit(const CommandCall& call);
void GetDevicePinnedMemLimit(const CommandCall& call);
void SetDefaultClientPriority(const CommandCall& call);
void GetDefaultClientPriority(const CommandCall& call);
void DeviceQuery(const CommandCall& call);
void DeviceShare(const CommandCall& call);
void SmPartition(const CommandCall& call);
void ListPartitions(const CommandCall& call);
void SetClientPriority(const CommandCall& call);
void SetMemorySharing(const CommandCall& call);
void GetMemorySharing(const CommandCall& call);
void SetClientKernelTime(const CommandCall& call);
void SetLimitScope(const CommandCall& call);
void GetLimitScope(const CommandCall& call);
void Claim(const CommandCall& call);
void SetPolicy(const CommandCall& call);
void GetPolicy(const CommandCall& call);
void Trace(const CommandCall& call);
void Faults(const CommandCall& call);
void Report(const CommandCall& call);
void Quit(const CommandCall& call);
void RotateLogs(const CommandCall& call);
void Upgrade(const CommandCall& call);
void Help(const CommandCall& call);

// Help lines of the commands that exist in protocol 3 as well.
std::string HelpOfEveryProtocol();

}  // namespace tutti::daemon::commands
