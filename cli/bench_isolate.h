// One case of `bench` in a process of its own, so that a kernel that faults or hangs costs one row.
#pragma once

#include "cli/bench_request.h"
#include "cli/session.h"

namespace gpuforge::cli {

// The command line of the child: `bench` with this case alone, as JSON.
std::vector<std::string> isolated_arguments(const Session& session, const BenchRequest& request,
                                            const lab::BenchCase& which, std::string_view device);
// What kept the child from answering is the case's failure.
lab::BenchResult bench_isolated(const Session& session, const BenchRequest& request,
                                const lab::BenchCase& which, std::string_view device);

}  // namespace gpuforge::cli
