// What the numeric checks found in one run.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "decode/operation.hpp"

namespace qfs {

/// One executed operation against its fp64 recomputation from the values that its producers really
/// made.
struct OperationError {
  OpKind kind = OpKind::embed;
  LayerId layer;
  StepId step;
  RequestId request;
  double relative_error =
      0;  // L2 norm of the difference over L2 norm of the fp64 result; infinite if not finite
  /// Of a failed sweep: it is right but for so many of its newest rows, which it did not see; 0:
  /// that is not what is wrong.
  std::size_t missing_rows = 0;
  std::size_t first_missing_row = 0;  // of its shard; of an unsplit cache the position
};

/// All operations of one kind.
struct KindErrors {
  OpKind kind = OpKind::embed;
  std::size_t operations = 0;
  double tolerance = 0;
  OperationError worst;
};

/// One step of one request against the straight-line fp64 decoder, which has the same weights and
/// initial cache: the cost of rounding activations and appended rows.
struct EndToEndError {
  StepId step;
  RequestId request;
  double relative_error = 0;  // of the stack's output, L2
  bool same_token = true;     // the arg max agrees (true without LM head)
};

/// What leaving one cached position out of one sweep would have done to its o (relative L2): the
/// smallest over all sweeps, for the newest position and for the oldest. 0 sweeps if every cache
/// was empty.
struct Sensitivity {
  std::size_t sweeps = 0;
  double newest = 0;
  double oldest = 0;
};

struct NumericReport {
  std::vector<KindErrors> kinds;  // in program order; only kinds that ran
  std::vector<OperationError>
      failures;  // beyond their kind's tolerance, as executed; the first is the cause
  std::vector<EndToEndError> end_to_end;
  double end_to_end_tolerance = 0;
  /// The graph itself, evaluated in fp64 without any rounding, against the same decoder: the worst
  /// step. Whatever is wrong with an edge or a count of positions shows here, however coarse the
  /// formats.
  double graph_error = 0;
  double graph_tolerance = 0;
  Sensitivity sensitivity;

  [[nodiscard]] bool end_to_end_passed() const {
    for (const EndToEndError& error : end_to_end) {
      if (!(error.relative_error <= end_to_end_tolerance)) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool graph_passed() const { return graph_error <= graph_tolerance; }
  [[nodiscard]] bool passed() const {
    return failures.empty() && end_to_end_passed() && graph_passed();
  }
};

}  // namespace qfs
