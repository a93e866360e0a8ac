// What has no formula is diagnosed, and what the diagnosis does not touch still stands.
#include <functional>
#include <string>

#include "analysis/estimate/module_rules.hpp"
#include "tests/support/catch.hpp"

namespace qfs::native {
namespace {

LayerSettings settings() {
  LayerSettings s;
  s.embed_dim = 4;
  s.heads = 2;
  s.ffn_dim = 8;
  return s;
}

Attention attention() {
  Attention a;
  a.target_length = a.source_length = 3;
  a.embed_dim = a.kdim = a.vdim = 4;
  a.heads = 2;
  return a;
}

Encoder encoder() {
  Encoder e;
  e.settings = settings();
  e.length = 3;
  return e;
}

Decoder decoder() {
  Decoder d;
  d.settings = settings();
  d.target_length = 2;
  d.source_length = 3;
  return d;
}

enum class Stands { everything, counts, nothing };

/// After a change to a module of which everything stands.
template <class Module>
void check(Module module, const std::function<void(Module&)>& change, Stands stands,
           const std::string& reason) {
  CAPTURE(reason);
  REQUIRE(estimate(module).diagnoses.empty());
  const ModuleWork plain = total(*estimate(module).stages);
  change(module);
  const ModuleEstimate changed = estimate(module);
  CHECK(changed.stages.has_value() == (stands != Stands::nothing));
  CHECK(changed.dependencies.has_value() == (stands == Stands::everything));
  CHECK(changed.diagnoses.size() == (stands == Stands::everything ? 0 : 1));
  for (const Diagnosis& diagnosis : changed.diagnoses) {
    CHECK(diagnosis.text.find(reason) != std::string::npos);
    CHECK((diagnosis.affected == Affected::dependencies) == (stands == Stands::counts));
  }
  if (changed.stages) {
    CHECK(total(*changed.stages).macs == plain.macs);  // dense products, whatever is masked
  }
}

TEST_CASE("calls outside the formulas have neither counts nor relations") {
  using A = Attention;
  check<A>(
      attention(), [](A& a) { a.add_bias_kv = true; }, Stands::nothing, "add_bias_kv");
  check<A>(
      attention(), [](A& a) { a.add_zero_attn = true; }, Stands::nothing, "add_zero_attn");
  check<A>(
      attention(), [](A& a) { a.call.training = true; }, Stands::nothing, "evaluation");
  check<A>(
      attention(), [](A& a) { a.call.native = false; }, Stands::nothing, "replaced");
  check<A>(
      attention(), [](A& a) { a.masks.is_causal = true; }, Stands::nothing, "causal hint");
  for (const TensorKind kind :
       {TensorKind::not_floating, TensorKind::unbatched, TensorKind::sparse, TensorKind::nested}) {
    check<A>(
        attention(), [&](A& a) { a.call.tensors = kind; }, Stands::nothing,
        std::string(name_of(kind)));
  }
  using E = Encoder;
  check<E>(
      encoder(), [](E& e) { e.settings.activation = Activation::other; }, Stands::nothing,
      "activation");
  check<E>(
      encoder(), [](E& e) { e.settings.norm.kind = NormKind::other; }, Stands::nothing,
      "LayerNorm");
  check<E>(
      encoder(), [](E& e) { e.settings.norm.kind = NormKind::none; }, Stands::nothing,
      "no native layer");
  check<E>(
      encoder(), [](E& e) { e.final_norm.kind = NormKind::other; }, Stands::nothing, "LayerNorm");
  check<E>(
      encoder(),
      [](E& e) {
        e.enable_nested_tensor = true;
        e.masks.padding = PaddingValues::all_allowed;
      },
      Stands::nothing, "enable_nested_tensor");
  using D = Decoder;
  check<D>(
      decoder(), [](D& d) { d.memory_masks.is_causal = true; }, Stands::nothing, "memory mask");
  check<D>(
      decoder(), [](D& d) { d.target_masks.is_causal = true; }, Stands::nothing, "target mask");
}

TEST_CASE("irregular masks leave the counts and take the relations") {
  using A = Attention;
  for (const MaskValues values : {MaskValues::arbitrary, MaskValues::all_excluded, MaskValues::nan,
                                  MaskValues::positive_infinity, MaskValues::unknown}) {
    check<A>(
        attention(), [&](A& a) { a.masks.attention = values; }, Stands::counts,
        std::string(name_of(values)));
  }
  for (const PaddingValues values :
       {PaddingValues::padding, PaddingValues::all_excluded, PaddingValues::nan,
        PaddingValues::positive_infinity, PaddingValues::unknown}) {
    check<A>(
        attention(), [&](A& a) { a.masks.padding = values; }, Stands::counts,
        std::string(name_of(values)));
  }
  check<A>(
      attention(),
      [](A& a) {
        a.masks.attention = MaskValues::finite;
        a.masks.is_causal = true;
      },
      Stands::counts, "contradict");
}

TEST_CASE("regular masks leave both") {
  using A = Attention;
  for (const MaskValues values :
       {MaskValues::all_allowed, MaskValues::finite, MaskValues::causal}) {
    check<A>(
        attention(), [&](A& a) { a.masks.attention = values; }, Stands::everything, "");
  }
  for (const PaddingValues values : {PaddingValues::all_allowed, PaddingValues::finite}) {
    check<A>(
        attention(), [&](A& a) { a.masks.padding = values; }, Stands::everything, "");
  }
  check<A>(
      attention(),
      [](A& a) {
        a.masks.attention = MaskValues::causal;
        a.masks.is_causal = true;
      },
      Stands::everything, "");
  using E = Encoder;
  check<E>(
      encoder(), [](E& e) { e.enable_nested_tensor = true; }, Stands::everything, "");
  check<E>(
      encoder(), [](E& e) { e.masks.padding = PaddingValues::finite; }, Stands::everything, "");
}

TEST_CASE("a norm over one feature is constant, and counted") {
  NormModule norm;
  norm.length = 3;
  norm.embed_dim = 1;
  const ModuleEstimate estimate = native::estimate(norm);
  CHECK_FALSE(estimate.dependencies);
  REQUIRE(estimate.stages);
  CHECK(total(*estimate.stages).macs == 6);
  CHECK(total(*estimate.stages).accesses == 12 + 15 + 1 + 2 + 6);
  norm.norm.kind = NormKind::none;
  CHECK(total(*native::estimate(norm).stages) == ModuleWork{});
  CHECK(native::estimate(norm).dependencies->front().relation == same_position(3));
}

TEST_CASE("what is wrong in both stacks of a transformer is told once") {
  Transformer transformer{encoder(), decoder()};
  transformer.encoder.settings.activation = Activation::other;
  transformer.decoder.settings.activation = Activation::other;
  transformer.decoder.memory_masks.attention = MaskValues::unknown;
  const ModuleEstimate estimate = native::estimate(transformer);
  REQUIRE(estimate.diagnoses.size() == 2);
  CHECK(estimate.diagnoses[1].text == "the relations of the memory mask (unknown) are not covered");
}

}  // namespace
}  // namespace qfs::native
