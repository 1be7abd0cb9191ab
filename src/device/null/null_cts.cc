// The null device and the conformance suite.
#include "device/cts/conformance.h"
#include "device/null/null_backend.h"

namespace tutti::device::cts {

const BackendCase& BackendUnderTest() {
  static const BackendCase backend = [] {
    const char* const no_data = "it moves no data";
    const char* const no_legacy = "its streams know nothing of each other";
    return BackendCase{
        .create = [] { return null::CreateNullBackend(); },
        .never = {{"CopiesMoveBytes", no_data},
                  {"FillsSetElements", no_data},
                  {"MemoryIsZeroAlsoTheSecondTime", no_data},
                  {"ACopyChangesAConstantForTheKernelsBehindIt", no_data},
                  {"ACopyOutsideOfTheWindowIsAFaultOfItsClient", no_data},
                  {"UnloadingWaitsForLaunchedKernels", no_data},
                  {"AFreeWaitsForEarlierWork", "there never is earlier work"},
                  {"AFreeInAStreamWaitsForThatStreamAlone", "there never is earlier work"},
                  {"TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt", no_legacy},
                  {"BlockingStreamsWaitForTheLegacyStream", no_legacy},
                  {"AStreamThatHoldsMuchHoldsUpNoOther", "its kernels are over at once"},
                  {"AWaitIsForWhatCameBeforeAnEventAndForNothingBehindIt", "its kernels are over at once"},
                  {"MemoryIsSeenWhereverItIsMapped", no_data},
                  {"AWriteWhereNothingIsMappedIsAFault", no_data},
                  {"AWishForAddressesIsFollowedIfTheyAreFree", no_data},
                  {"ASpaceSeesWhatAnotherSharesAndKeepsIt", no_data},
                  {"SharedCountersOfASpaceThatEndsAreSoLargeThatNobodyWaits", no_data},
                  {"AWordOfSharedCountersIsWrittenWhenTheStreamGetsThere", no_data},
                  {"AWordOfSharedCountersIsWrittenThoughItsWriterEndsFirst", no_data},
                  {"AWordOfSharedCountersIsWrittenThoughItsWriterFailsFirst", no_data},
                  {"AWordOfSharedCountersIsNeverLessThanItWas", no_data},
                  {"OnlyMemoryOfTheClientIsShared", no_data},
                  {"MemoryOfTheHostIsInAFileThatClientsMayMap", no_data},
                  {"MemoryOfTheHostIsLimitedAndComesBack", no_data},
                  {"ABrokenModuleFailsWithItsLog", "every word is a module"},
                  {"HostAndKernelsReachAManagedVariableAtOneAddress", "its modules have kernels only"},
                  {"AModulesVariablesAreInTheWindowInitialisedAndRelocated", "its modules have kernels only"}},
        .not_yet = {},
    };
  }();
  return backend;
}

}  // namespace tutti::device::cts
