// The SM partitions in words, as the program that goes on after an upgrade is told them (succession.h). Unlike the
// commands of the control language these keep a partition's id and its SMs, which clients name and servers have given
// out. Daemon thread only.
#pragma once

#include <string>
#include <vector>

#include "daemon/partitions/partition_table.h"

namespace tutti::daemon {

// One line for each partition.
std::vector<std::string> PartitionCommands(const PartitionTable& table);

// Adds the partition that such a line describes; one that cannot be understood, or whose SMs are taken, is logged and
// left out. False if the words are no such line. Words of a newer program that mean nothing here are passed over.
bool RestorePartition(const std::vector<std::string>& words, PartitionTable& table);

}  // namespace tutti::daemon
