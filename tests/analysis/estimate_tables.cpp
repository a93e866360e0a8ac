// 002's hand-derived tables and DESIGN.md 7's further figures, to the digit. All derivations stand
// in the source; here only its numbers.
#include <stdexcept>

#include "analysis/estimate/module_work.hpp"
#include "tests/support/catch.hpp"

namespace qfs::native {
namespace {

/// B = 1, E = 4, H = 2, biases, affine norms, ReLU, F = 8.
LayerSettings tiny_settings() {
  LayerSettings settings;
  settings.embed_dim = 4;
  settings.heads = 2;
  settings.ffn_dim = 8;
  return settings;
}

Attention tiny_attention(std::size_t targets, std::size_t sources, std::size_t kdim,
                         std::size_t vdim) {
  Attention a;
  a.target_length = targets;
  a.source_length = sources;
  a.embed_dim = 4;
  a.heads = 2;
  a.kdim = kdim;
  a.vdim = vdim;
  a.sharing = Sharing::none;
  return a;
}

Encoder tiny_encoder() {
  Encoder encoder;
  encoder.settings = tiny_settings();
  encoder.length = 3;
  return encoder;
}

Decoder tiny_decoder() {
  Decoder decoder;
  decoder.settings = tiny_settings();
  decoder.target_length = 2;
  decoder.source_length = 3;
  return decoder;
}

template <class Module>
void check_work(const Module& module, std::int64_t macs, std::int64_t accesses) {
  const ModuleWork work = total(stages_of(module));
  CHECK(work.macs == macs);
  CHECK(work.accesses == accesses);
}

TEST_CASE("the six hand-derived examples of native estimates") {
  check_work(tiny_attention(3, 3, 4, 4), 264, 452);
  check_work(tiny_attention(2, 3, 4, 4), 208, 352);
  check_work(tiny_attention(2, 3, 6, 5), 244, 373);
  check_work(tiny_encoder(), 504, 912);
  check_work(tiny_decoder(), 544, 1069);
  Transformer transformer{tiny_encoder(), tiny_decoder()};
  transformer.encoder.final_norm.kind = NormKind::layer_norm;
  transformer.decoder.final_norm.kind = NormKind::layer_norm;
  check_work(transformer, 1088, 2144);
}

TEST_CASE("returned weights cost an average over the heads, or nothing") {
  Attention a = tiny_attention(3, 3, 4, 4);
  a.need_weights = true;
  check_work(a, 264, 479);
  a.average_weights = false;
  check_work(a, 264, 452);
}

TEST_CASE("the parts of the hand-derived layers") {
  check_work(tiny_attention(2, 2, 4, 4), 160, 288);  // of the decoder layer, on its target
  FeedForward feed_forward;
  feed_forward.length = 3;
  feed_forward.embed_dim = 4;
  feed_forward.ffn_dim = 8;
  check_work(feed_forward, 192, 196);
  feed_forward.length = 2;
  check_work(feed_forward, 128, 156);
  NormModule norm;
  norm.length = 3;
  norm.embed_dim = 4;
  check_work(norm, 24, 96);
  norm.length = 2;
  check_work(norm, 16, 67);
}

TEST_CASE("a masked attention of unequal widths with averaged weights") {
  Attention a;
  a.call.batch = 2;
  a.target_length = 3;
  a.source_length = 5;
  a.embed_dim = 8;
  a.heads = 4;
  a.kdim = 6;
  a.vdim = 7;
  a.sharing = Sharing::none;
  a.masks.attention = MaskValues::finite;  // 15 elements
  a.need_weights = true;
  check_work(a, 2288, 2799);
  a.bias = false;
  a.masks = {};
  a.need_weights = false;
  check_work(a, 2288, 2362);
}

TEST_CASE("no stage of a layer moves with the order of its norms, its layout or its hint") {
  Encoder encoder = tiny_encoder();
  encoder.masks.attention = MaskValues::causal;
  const ModuleWork work = total(stages_of(encoder));
  encoder.settings.norm_first = true;
  encoder.settings.call.layout = TokenLayout::sequence_first;
  encoder.settings.activation = Activation::gelu;
  encoder.masks.is_causal = true;
  CHECK(total(stages_of(encoder)) == work);
  CHECK(work.macs == 504);
  CHECK(work.accesses == 912 + 9 + 2 * 18);
}

TEST_CASE("counts beyond 63 bits are refused, not wrapped") {
  FeedForward f;
  f.length = std::size_t{1} << 31U;
  f.embed_dim = f.ffn_dim = std::size_t{1} << 16U;
  CHECK_THROWS_AS(total(stages_of(f)), std::overflow_error);
  f.length = std::size_t{1} << 29U;
  CHECK(total(stages_of(f)).macs == std::int64_t{1} << 62U);
}

}  // namespace
}  // namespace qfs::native
