#include "sim/estimate/module_load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/complaint.hpp"
#include "sim/config/section.hpp"

namespace qfs::estimate {
namespace {

using config::ConfigNode;

constexpr const char* kind_key = "module";

/// The module's own defaults, where they differ from the structs'.
ModuleKeys keys_of(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::attention: {
      AttentionKeys keys;
      keys.module.source_length = keys.module.kdim = keys.module.vdim = 0;
      return keys;
    }
    case ModuleKind::feed_forward:
      return FeedForwardKeys{};
    case ModuleKind::norm:
      return NormKeys{};
    case ModuleKind::encoder_layer:
      return EncoderLayerKeys{};
    case ModuleKind::decoder_layer:
      return DecoderLayerKeys{};
    case ModuleKind::encoder: {
      EncoderKeys keys;
      keys.module.enable_nested_tensor = true;
      return keys;
    }
    case ModuleKind::decoder:
      return DecoderKeys{};
    case ModuleKind::transformer:
      break;
  }
  TransformerKeys keys;
  keys.module.encoder.enable_nested_tensor = true;
  keys.module.encoder.final_norm.kind = native::NormKind::layer_norm;
  keys.module.decoder.final_norm.kind = native::NormKind::layer_norm;
  return keys;
}

ModuleKind kind_named(const config::Where& where, const std::string& key, const std::string& name) {
  if (const std::optional<ModuleKind> kind = value_named<ModuleKind>(name)) {
    return *kind;
  }
  std::vector<std::string> legal;
  for (const auto& [kind, text] : enum_names<ModuleKind>) {
    legal.emplace_back(text);
  }
  config::complain(where, key, config::in_quotes(name), config::joined(legal),
                   config::nearest_spelling(name, legal));
}

bool is_file_name(const std::string& name) {
  return name.find_first_of("/\\") != std::string::npos || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

/// Takes the kind out of a file's map.
ModuleKind take_kind(ConfigNode& root) {
  const ConfigNode* given = root.given(kind_key);
  if (given == nullptr) {
    config::complain(root.where, kind_key, "missing", "the kind of module");
  }
  if (given->kind != ConfigNode::Kind::scalar) {
    config::complain(given->where, kind_key, config::described(*given), "the kind of module");
  }
  const ModuleKind kind = kind_named(given->where, kind_key, given->text);
  std::erase_if(root.children, [](const ConfigNode& child) { return child.key == kind_key; });
  return kind;
}

/// Says what is wrong with several keys together.
struct Checker {
  const ConfigNode& root;

  void require(bool holds, const char* key, const std::string& given, const char* legal) const {
    if (!holds) {
      config::complain(config::place_of(root, key), key, given, legal);
    }
  }
  void check_heads(std::size_t heads, std::size_t embed_dim) const {
    require(embed_dim % heads == 0, "heads",
            fmt::format("'{}' does not divide embed_dim, {}", heads, embed_dim),
            "a divisor of embed_dim");
  }
};

void settle(const Checker& check, AttentionKeys& keys) {
  using native::Sharing;
  native::Attention& a = keys.module;
  const auto default_to = [](std::size_t& value, std::size_t other) {
    value = value == 0 ? other : value;
  };
  default_to(a.source_length, a.target_length);
  default_to(a.kdim, a.embed_dim);
  default_to(a.vdim, a.embed_dim);
  check.check_heads(a.heads, a.embed_dim);
  const Sharing s = a.sharing;
  const bool query_too = s != Sharing::none && s != Sharing::key_value;
  check.require(
      !query_too || a.source_length == a.target_length, "source_length",
      fmt::format("'{}', but query is shared and has {} tokens", a.source_length, a.target_length),
      "as target_length; or sharing: key_value or none");
  const bool query_key = s == Sharing::all || s == Sharing::query_key;
  check.require(!query_key || a.kdim == a.embed_dim, "kdim",
                fmt::format("'{}', but key is query, {} wide", a.kdim, a.embed_dim),
                "as embed_dim; or sharing: key_value or none");
  const bool query_value = s == Sharing::all || s == Sharing::query_value;
  check.require(!query_value || a.vdim == a.embed_dim, "vdim",
                fmt::format("'{}', but value is query, {} wide", a.vdim, a.embed_dim),
                "as embed_dim; or sharing: key_value or none");
  check.require(s != Sharing::key_value || a.kdim == a.vdim, "vdim",
                fmt::format("'{}', but value is key, {} wide", a.vdim, a.kdim),
                "as kdim; or sharing: none");
}

void settle(const Checker&, FeedForwardKeys&) {}
void settle(const Checker&, NormKeys&) {}

/// Encoder or decoder, a layer alone or a stack.
template <class Keys>
void settle(const Checker& check, Keys& keys) {
  check.check_heads(keys.module.settings.heads, keys.module.settings.embed_dim);
}

void settle(const Checker& check, TransformerKeys& keys) {
  native::Transformer& module = keys.module;
  check.check_heads(module.encoder.settings.heads, module.encoder.settings.embed_dim);
  module.decoder.settings = module.encoder.settings;
  module.decoder.source_length = module.encoder.length;
}

/// Collects what the keys say.
class Recorder {
 public:
  template <class T, class Form>
  void field(const config::Key& key, T& value, const Form& form) {
    values.emplace_back(key.name, form.print(value));
  }
  KeyValues values;
};

}  // namespace

NamedModule load_module(const std::string& name, const std::vector<std::string>& overrides) {
  const bool from_file = is_file_name(name);
  ConfigNode root = from_file ? config::read_yaml_map(name)
                              : config::map_node("", {"qfsim estimate --module " + name});
  const ModuleKind kind =
      from_file ? take_kind(root) : kind_named({"qfsim estimate"}, "--module", name);
  for (const std::string& argument : overrides) {
    config::apply_override(root, argument);
  }
  NamedModule module{kind, keys_of(kind), {}};
  std::visit(
      [&](auto& keys) {
        config::read_section(root, "", keys, {});
        settle(Checker{root}, keys);
        Recorder recorder;
        describe(recorder, keys);
        module.values = recorder.values;
      },
      module.keys);
  return module;
}

std::string module_keys_text(const std::string& name) {
  const ModuleKind kind = kind_named({"qfsim estimate"}, "--module", name);
  ModuleKeys keys = keys_of(kind);
  config::Documenter documenter;
  std::visit([&](auto& each) { describe(documenter, each); }, keys);
  return "| key | legal | default | meaning |\n|---|---|---|---|\n" + documenter.text();
}

}  // namespace qfs::estimate
