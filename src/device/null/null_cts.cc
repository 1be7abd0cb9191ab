// The null device and the conformance suite.
#include "device/cts/conformance.h"
#include "device/null/null_backend.h"

namespace tutti::device::cts {

const BackendCase& BackendUnderTest() {
  static const BackendCase backend = [] {
    const char* const no_data = "it moves no data";
    const char* const at_once = "everything is done at once";
    const char* const no_limits = "it enforces no limits";
    const char* const no_modules = "every image is a module without variables";
    return BackendCase{
        .create = [] { return null::CreateNullBackend(); },
        .never = {{"CopiesMoveBytes", no_data},
                  {"FillsSetElements", no_data},
                  {"ACopyOutsideOfTheWindowIsAFaultOfItsClient", no_data},
                  {"UnloadingWaitsForLaunchedKernels", no_data},
                  {"AFreeWaitsForEarlierWork", at_once},
                  {"AHostCallHoldsItsStreamAndNoOther", at_once},
                  {"AWaitHoldsUntilTheOtherStreamHasPassedTheTicket", at_once},
                  {"TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt", at_once},
                  {"BlockingStreamsWaitForTheLegacyStream", at_once},
                  {"AClientsLimitHolds", no_limits},
                  {"ADeviceIsNotOversubscribedByManyClients", no_limits},
                  {"AModulesVariablesAreInTheWindowInitialisedAndRelocated", no_modules},
                  {"ABrokenModuleFailsWithItsLog", no_modules}},
        .not_yet = {},
    };
  }();
  return backend;
}

}  // namespace tutti::device::cts
