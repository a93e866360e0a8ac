#include "analysis/estimate/module_rules.hpp"

#include <algorithm>

namespace qfs::native {
namespace {

/// Collects what is not covered.
class Rules {
 public:
  void require(bool holds, const std::string& text, Affected affected = Affected::everything) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Diagnosis& other) { return other.text == text; });
    if (!holds && !known) {
      found.push_back({affected, text});
    }
  }
  void require_for_dependencies(bool holds, const std::string& text) {
    require(holds, text, Affected::dependencies);
  }

  void check(const Call& call) {
    require(call.native, "a replaced forward needs an estimate of its own");
    require(!call.training, "the formulas are of evaluation calls, without dropout");
    require(call.tensors == TensorKind::dense,
            "inputs that are " + std::string(name_of(call.tensors)) +
                " have no formula; the formulas are of dense floating tensors with a batch");
  }

  void check(const Masks& masks, const std::string& which) {
    const std::string name = std::string(which).empty() ? "attention mask" : which + " mask";
    const MaskValues values = masks.attention;
    const bool mask = values != MaskValues::none;
    require(mask || !masks.is_causal,
            "a causal hint without " + name + " leaves open which path PyTorch takes");
    require_for_dependencies(!mask || !masks.is_causal || values == MaskValues::causal,
                             "the causal hint and the " + name + " contradict each other");
    const bool regular = !mask || values == MaskValues::all_allowed ||
                         values == MaskValues::finite || values == MaskValues::causal;
    require_for_dependencies(regular, "the relations of the " + name + " (" +
                                          std::string(name_of(values)) + ") are not covered");
    const PaddingValues padding = masks.padding;
    const bool keeps_all = padding == PaddingValues::none ||
                           padding == PaddingValues::all_allowed ||
                           padding == PaddingValues::finite;
    require_for_dependencies(
        keeps_all, "the relations of the " + (which.empty() ? "" : which + " ") +
                       "key-padding mask (" + std::string(name_of(padding)) + ") are not covered");
  }

  void check(const Norm& norm, std::size_t width) {
    require(norm.kind != NormKind::other,
            "a norm that is no LayerNorm over the features has no formula");
    require_for_dependencies(norm.kind != NormKind::layer_norm || width > 1,
                             "a norm over one feature gives a constant");
  }

  void check(Activation activation) {
    require(activation != Activation::other,
            "an activation that is not ReLU or GELU has no "
            "formula");
  }

  void check(const LayerSettings& settings) {
    check(settings.call);
    check(settings.activation);
    require(settings.norm.kind != NormKind::none, "a layer without its norms is no native layer");
    check(settings.norm, settings.embed_dim);
  }

  Diagnoses found;
};

void check(const Encoder& encoder, Rules& rules) {
  rules.check(encoder.settings);
  rules.check(encoder.masks, "source");
  rules.check(encoder.final_norm, encoder.settings.embed_dim);
  rules.require(!encoder.enable_nested_tensor || encoder.masks.padding == PaddingValues::none,
                "a padding mask with enable_nested_tensor may pack tokens; the formulas are of "
                "dense work");
}

void check(const Decoder& decoder, Rules& rules) {
  rules.check(decoder.settings);
  rules.check(decoder.target_masks, "target");
  rules.check(decoder.memory_masks, "memory");
  rules.check(decoder.final_norm, decoder.settings.embed_dim);
}

bool any(const Diagnoses& diagnoses, bool counts_too) {
  return std::any_of(diagnoses.begin(), diagnoses.end(), [&](const Diagnosis& diagnosis) {
    return !counts_too || diagnosis.affected == Affected::everything;
  });
}

}  // namespace

Diagnoses diagnoses_of(const Attention& attention) {
  Rules rules;
  rules.check(attention.call);
  rules.require(!attention.add_bias_kv, "add_bias_kv has no formula");
  rules.require(!attention.add_zero_attn, "add_zero_attn has no formula");
  rules.check(attention.masks, "");
  return rules.found;
}

Diagnoses diagnoses_of(const FeedForward& feed_forward) {
  Rules rules;
  rules.check(feed_forward.call);
  rules.check(feed_forward.activation);
  return rules.found;
}

Diagnoses diagnoses_of(const NormModule& norm) {
  Rules rules;
  rules.check(norm.call);
  rules.check(norm.norm, norm.embed_dim);
  return rules.found;
}

Diagnoses diagnoses_of(const Encoder& encoder) {
  Rules rules;
  check(encoder, rules);
  return rules.found;
}

Diagnoses diagnoses_of(const Decoder& decoder) {
  Rules rules;
  check(decoder, rules);
  return rules.found;
}

Diagnoses diagnoses_of(const Transformer& transformer) {
  Rules rules;
  check(transformer.encoder, rules);
  check(transformer.decoder, rules);
  return rules.found;
}

template <class Module>
ModuleEstimate estimate(const Module& module) {
  ModuleEstimate estimate{std::nullopt, std::nullopt, diagnoses_of(module)};
  if (!any(estimate.diagnoses, true)) {
    estimate.stages = stages_of(module);
  }
  if (!any(estimate.diagnoses, false)) {
    estimate.dependencies = dependencies_of(module);
    if (!estimate.dependencies) {
      estimate.diagnoses.push_back(
          {Affected::dependencies, "the relations compose to none of the four kinds"});
    }
  }
  return estimate;
}

template ModuleEstimate estimate(const Attention& module);
template ModuleEstimate estimate(const FeedForward& module);
template ModuleEstimate estimate(const NormModule& module);
template ModuleEstimate estimate(const Encoder& module);
template ModuleEstimate estimate(const Decoder& module);
template ModuleEstimate estimate(const Transformer& module);

}  // namespace qfs::native
