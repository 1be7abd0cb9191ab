// Serialises the SM partitions as text for the next program at an upgrade (succession.h). Unlike commands of the
// control language, this keeps a partition's id, which clients name, and its SMs, which servers have assigned. Daemon
// thread only.
#pragma once

#include <string>
#include <vector>

#include "daemon/partitions/partition_table.h"

namespace tutti::daemon {

// One line for each partition.
std::vector<std::string> PartitionCommands(const PartitionTable& table);

// Adds the partition that such a line describes. A malformed one, or one whose SMs are taken, is logged and skipped.
// False if the words are no such line. Unknown words, of a newer program, are ignored.
bool RestorePartition(const std::vector<std::string>& words, PartitionTable& table);

}  // namespace tutti::daemon
