// Which input tokens the tokens of a module's output may depend on, within one call; 002.
// Structural: at generic finite parameters, of the main output only, without gradients or numerical
// underflow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/estimate/modules.hpp"
#include "analysis/estimate/token_relation.hpp"

namespace qfs::native {

struct TokenDependency {
  std::vector<std::string> arguments;  // that are one tensor, e.g. key, value
  TokenRelation relation;
};
using TokenDependencies = std::vector<TokenDependency>;

/// For calls without a diagnosis about their dependencies (module_rules.hpp). Nothing where
/// relations compose to none of the four kinds.
std::optional<TokenDependencies> dependencies_of(const Attention& attention);
std::optional<TokenDependencies> dependencies_of(const FeedForward& feed_forward);
std::optional<TokenDependencies> dependencies_of(const NormModule& norm);
std::optional<TokenDependencies> dependencies_of(const Encoder& encoder);
std::optional<TokenDependencies> dependencies_of(const Decoder& decoder);
std::optional<TokenDependencies> dependencies_of(const Transformer& transformer);

}  // namespace qfs::native
