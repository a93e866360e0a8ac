// What 002's formulas do not cover, and the estimate of a module: counts and relations where they
// hold, a diagnosis where they do not, never a number that was made up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/estimate/module_dependencies.hpp"
#include "analysis/estimate/module_work.hpp"
#include "analysis/estimate/modules.hpp"

namespace qfs::native {

/// What a diagnosis makes unavailable.
enum class Affected {
  everything,
  dependencies,  // the counts stand
};

struct Diagnosis {
  Affected affected = Affected::everything;
  std::string text;  // one sentence without a full stop
};
using Diagnoses = std::vector<Diagnosis>;

/// Empty: all is covered.
Diagnoses diagnoses_of(const Attention& attention);
Diagnoses diagnoses_of(const FeedForward& feed_forward);
Diagnoses diagnoses_of(const NormModule& norm);
Diagnoses diagnoses_of(const Encoder& encoder);
Diagnoses diagnoses_of(const Decoder& decoder);
Diagnoses diagnoses_of(const Transformer& transformer);

struct ModuleEstimate {
  std::optional<Stages> stages;                   // none: counts unavailable
  std::optional<TokenDependencies> dependencies;  // none: unavailable, which is not "no dependency"
  Diagnoses diagnoses;                            // why what is missing is missing
};

/// std::overflow_error where a count leaves 63 bits.
template <class Module>
ModuleEstimate estimate(const Module& module);

extern template ModuleEstimate estimate(const Attention& module);
extern template ModuleEstimate estimate(const FeedForward& module);
extern template ModuleEstimate estimate(const NormModule& module);
extern template ModuleEstimate estimate(const Encoder& module);
extern template ModuleEstimate estimate(const Decoder& module);
extern template ModuleEstimate estimate(const Transformer& module);

}  // namespace qfs::native

namespace qfs {
template <>
inline constexpr EnumNames<native::Affected, 2> enum_names<native::Affected>{{
    {native::Affected::everything, "everything"},
    {native::Affected::dependencies, "token_dependencies"},
}};
}  // namespace qfs
