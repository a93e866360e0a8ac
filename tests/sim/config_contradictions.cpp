// Mistakes that come of several keys, of bits, of null and of arguments: the line that tells them.
#include <string>
#include <vector>

#include "sim/config/complaint.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

struct BadRun {
  std::vector<std::string> overrides;
  std::string begins;
  std::string ends;
};

void check_runs(const std::vector<BadRun>& cases, const std::string& text = run_text()) {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", text);
  for (const BadRun& bad : cases) {
    check_message(folder.complaint(file, bad.overrides), bad.begins, bad.ends);
  }
}

}  // namespace

TEST_CASE("bits are refused with the bytes that they are") {
  const auto rate = [](const std::string& bits, const std::string& bytes) {
    return BadRun{{"link.bandwidth=" + bits},
                  "--set link.bandwidth=" + bits + ": link.bandwidth: '" + bits +
                      "' is in bits; legal: bytes a second, e.g. 4.8 TB/s; ",
                  bits + " are " + bytes};
  };
  check_runs({
      rate("400 Gb/s", "50 GB/s"),
      rate("400Gbit/s", "50 GB/s"),
      rate("100 Gbps", "12.5 GB/s"),
      rate("100 gbps", "12.5 GB/s"),
      rate("8 Tb/s", "1 TB/s"),
      rate("8 bits/s", "1 B/s"),
      rate("1e3 kbit/s", "125 kB/s"),
      {{"link.bandwidth=-1 Gb/s"}, "--set ", "is in bits; legal: bytes a second, e.g. 4.8 TB/s"},
      {{"link.bandwidth=8 tb/s"}, "--set ", "did you mean '8 TB/s'?"},
      {{"link.bandwidth=8 TBps"}, "--set ", "did you mean '8 TB/s'?"},
      {{"cache_device.capacity=80 Gbit"},
       "--set cache_device.capacity=80 Gbit: cache_device.capacity: '80 Gbit' is in bits",
       "legal: bytes, e.g. 80 GiB; 80 Gbit are 10 GB"},
  });
}

TEST_CASE("a form of attention that is too much for the contexts is refused") {
  check_runs({
      {{"attention.form=score_matrix", "workload.contexts=[1 Gi]"},
       "--set workload.contexts=[1 Gi]: workload: ",
       "legal: up to 4e+18: a smaller model, batch, context or tokens"},
      {{"attention.form=expanded_heads", "attention.cache_growth=copying"}, "loaded", "loaded"},
      {{"attention.form=score_matrix", "accounting=weights_and_sweep"},
       "--set attention.form=score_matrix: attention.form: score_matrix, whose matrices",
       "legal: with accounting full"},
      {{"attention.cache_growth=copying", "accounting=weights_and_sweep"},
       "--set attention.cache_growth=copying: attention.cache_growth: copying, whose copies",
       "legal: with accounting full"},
      {{"attention.form=transposed"},
       "--set attention.form=transposed: attention.form: 'transposed'",
       "did you mean 'transposed_k'?"},
      {{"attention.cache_grow=copying"},
       "--set attention.cache_grow=copying: attention.cache_grow: unknown key",
       "legal: form, cache_growth, softmax, score_buffer; did you mean 'cache_growth'?"},
  });
}

TEST_CASE("faults are checked against the graph of every block order") {
  const std::string legal = "; legal: a fault that can happen in `block` and in each of `compare`";
  const auto inject = [](const std::string& keys) { return "numerics.inject={" + keys + "}"; };
  check_runs({
      {{inject("fault: drop_edge, operation: sweep, value: q")}, "loaded", "loaded"},
      {{inject("fault: drop_edge, operation: ffn, value: k")},
       "--set numerics.inject={fault: drop_edge, operation: ffn, value: k}: numerics.inject: "
       "nothing in layer 0 of step 0 for the fault drop_edge (operation ffn, value k), block "
       "early_q",
       legal},
      {{"numerics.inject.fault=wrong_weights", "numerics.inject.operation=k"},
       "--set numerics.inject.operation=k: numerics.inject: nothing in layer 0 ",
       legal},
      {{"numerics.inject.fault=wrong_weights", "numerics.inject.operation=sweep"},
       "--set numerics.inject.operation=sweep: numerics.inject.operation: sweep, which reads no "
       "weights of a layer",
       "; legal: q, k, v, kv, qkv, o, ffn for wrong_weights"},
      {{"numerics.inject.fault=wrong_weights", "numerics.inject.operation=lm_head"},
       "--set numerics.inject.operation=lm_head: numerics.inject.operation: lm_head, which reads",
       "for wrong_weights"},
  });
}

TEST_CASE("the operations of a run are bounded, with the bound in the message") {
  // 28 layers: 226 operations of a request and token, 17,699 of which make 4 million.
  check_runs({
      {{"workload.batch=4424", "workload.context=1"}, "loaded", "loaded"},
      {{"workload.batch=4425", "workload.context=1"},
       "--set workload.batch=4425: workload.batch: 4425 (batch 4425, tokens 4, layers 28: 4000200 "
       "operations)",
       "; legal: batch * tokens up to 17699 with these layers, 4000000 operations"},
      {{"workload.tokens=4096", "workload.batch=8", "workload.context=1"},
       "--set workload.tokens=4096: workload.tokens: 4096 (batch 8, tokens 4096, layers 28: ",
       " 4000000 operations"},
  });
}

TEST_CASE("the time of activations counts") {
  // A memory without weights or cache to speak of, and nothing but the stream to move.
  const std::string narrow =
      "model={hidden: 16 Mi, layers: 1, heads: 1, kv_heads: 1, head_dim: 2, ffn: 1, vocab: 1}";
  check_runs({
      {{narrow, "workload={batch: 60000, context: 0}", "cache_device.bandwidth=5 GB/s"},
       "--set cache_device.bandwidth=5 GB/s: workload: could take ",
       "since the clock counts femtoseconds in 64 bits"},
      {{narrow, "workload={batch: 60000, context: 0}"}, "loaded", "loaded"},
  });
}

TEST_CASE("errors of several keys name the argument among them") {
  check_runs(
      {
          {{"workload.context=1 Mi"},
           "--set workload.context=1 Mi: cache_device.capacity: 1 GiB; legal: at least 112.1 GiB",
           "tokens 4"},
          {{"workload.contexts=[1 Mi]"},
           "--set workload.contexts=[1 Mi]: cache_device.capacity: 1 GiB",
           "tokens 4"},
          {{"workload.batch=2", "workload.context=8 Ki", "cache_device.capacity=2 kB"},
           "--set cache_device.capacity=2 kB: cache_device.capacity: 2 kB; legal: at least 1.88 "
           "GB ",
           "tokens 4"},
          {{"cache_device.capacity=10 B", "model.layers=1", "workload.context=0",
            "workload.tokens=1", "numerics.kv_dtype=fp32"},
           "--set cache_device.capacity=10 B: cache_device.capacity: 10 B; legal: at least 8 KiB ",
           "tokens 1"},
          {{"cache_device.bandwidth=1 B/s"},
           "--set cache_device.bandwidth=1 B/s: workload: could take 2.13e+09 s of simulated time "
           "at context 4608, most of it for cache_device.bandwidth; legal: up to 4500 s",
           "64 bits"},
      },
      run_text(8, "cache_device: {capacity: 1 GiB}"));
}

TEST_CASE("a value that an argument puts keys over is named where it stands") {
  check_runs({
      {{"numerics=off", "numerics.mode=full"},
       "--set numerics=off: numerics: 'off'; legal: a map of keys",
       "a map of keys"},
      {{"workload=5", "workload.batch=2"}, "--set workload=5: workload: '5'", "a map of keys"},
      {{"numerics.preset=x"}, "--set numerics.preset=x: numerics.preset: unknown key", "inject"},
  });
}

TEST_CASE("a key that null takes away may be missed") {
  check_runs({
      {{"name=null"}, "--set name=null: name: missing; legal: a folder's name", "'-'"},
      {{"link=null"},
       "--set link=null: link: missing, needed where there is more than one device; ",
       "or a map"},
      {{"workload.contexts=[null]"},
       "--set workload.contexts=[null]: workload.contexts: null; legal: a list",
       "1 Ti"},
      {{"arrangement=colocated", "cache_device=null"},
       "run.yaml:9: link: given, but with arrangement colocated",
       "or --set link=null"},
      {{"lnk=null"}, "--set lnk=null: lnk: unknown key", "did you mean 'link'?"},
  });
  check_runs({{{}, "run.yaml:2: model: missing", "a map"}}, run_text(2, "model: ~"));
  check_runs({{{}, "run.yaml:1: name: nothing", "'-'"}}, run_text(1, "name:"));
}

TEST_CASE("preset names are found by a misspelt beginning") {
  check_runs({
      {{"link=nvlnk4"}, "--set link=nvlnk4: link: 'nvlnk4'; legal: ", "did you mean 'nvlink4'?"},
      {{"model=qwen-4b"}, "--set model=qwen-4b: model: ", "did you mean 'qwen3-4b'?"},
      {{"model=qwne3"}, "--set model=qwne3: model: ", "did you mean 'qwen3-0.6b'?"},
      {{"cache_device=idael"}, "--set cache_device=idael: cache_device: ", "mean 'ideal'?"},
  });
  const std::vector<std::string> names{"nvlink4", "ideal"};
  CHECK(config::nearest_spelling("nvl", names) == "nvlink4");
  CHECK(config::nearest_spelling("nvx", names).empty());
  CHECK(config::nearest_spelling("link", names).empty());
}

}  // namespace qfs::test
