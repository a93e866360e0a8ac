// From `--module` and `--set`, or a file, to a native module and its call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/estimate/module_schema.hpp"

namespace qfs::estimate {

enum class ModuleKind {
  attention,
  feed_forward,
  norm,
  encoder_layer,
  decoder_layer,
  encoder,
  decoder,
  transformer
};

/// Of each key its value as it is written; in the order of the schema.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct NamedModule {
  ModuleKind kind = ModuleKind::attention;
  ModuleKeys keys;
  KeyValues values;
};

/// `name` is a kind, or a file (it ends in .yaml or has a folder) whose key `module` is one; the
/// other keys are those of the kind, with the overrides over them. Everything that is wrong is a
/// ConfigError of one line.
NamedModule load_module(const std::string& name, const std::vector<std::string>& overrides);

/// A table of the kind's keys: legal values, default, meaning.
std::string module_keys_text(const std::string& name);

}  // namespace qfs::estimate

namespace qfs {
template <>
inline constexpr EnumNames<estimate::ModuleKind, 8> enum_names<estimate::ModuleKind>{{
    {estimate::ModuleKind::attention, "attention"},
    {estimate::ModuleKind::feed_forward, "feed_forward"},
    {estimate::ModuleKind::norm, "norm"},
    {estimate::ModuleKind::encoder_layer, "encoder_layer"},
    {estimate::ModuleKind::decoder_layer, "decoder_layer"},
    {estimate::ModuleKind::encoder, "encoder"},
    {estimate::ModuleKind::decoder, "decoder"},
    {estimate::ModuleKind::transformer, "transformer"},
}};
}  // namespace qfs
