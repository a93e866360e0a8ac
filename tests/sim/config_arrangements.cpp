// What the arrangements can contradict, each in one line: place, key, what was given, what is
// legal.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "decode/cache_split.hpp"
#include "sim/config/system_config.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

/// Arguments on a good file of an arrangement, and how the complaint must begin and end.
struct BadRun {
  std::vector<std::string> overrides;
  std::string begins;
  std::string ends;
};

const std::string loaded = "loaded";

std::string text_of(const std::string& arrangement) {
  std::string text = "name: a\nmodel: qwen3-0.6b\nblock: early_q\narrangement: " + arrangement +
                     "\nworkload: {context: 4 Ki, batch: 2, tokens: 2}\ncompute_device: ideal\n";
  if (arrangement == "two_device" || arrangement == "pooled") {
    text += "cache_device: ideal\n";
  }
  return arrangement == "colocated" ? text : text + "link: ideal\n";
}

void check_runs(const std::string& arrangement, const std::vector<BadRun>& cases) {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", text_of(arrangement));
  for (const BadRun& bad : cases) {
    check_message(folder.complaint(file, bad.overrides), bad.begins, bad.ends);
  }
}

RunConfig load_with(const std::string& arrangement, const std::vector<std::string>& overrides) {
  const ConfigFolder folder;
  return load_run_config(folder.write("run.yaml", text_of(arrangement)), overrides);
}

}  // namespace

TEST_CASE("sections of other arrangements are refused") {
  check_runs("colocated",
             {{{"cache.devices=2"},
               "--set cache.devices=2: cache: given, but with arrangement colocated one device",
               "; legal: nothing here; remove it, or --set cache=null"},
              {{"pool.instances=2"},
               "--set pool.instances=2: pool: given, but only pooled has a pool",
               "; legal: nothing here; remove it, or --set pool=null"},
              {{"tensor_parallel.devices=2"},
               "--set tensor_parallel.devices=2: tensor_parallel: given, but the arrangement is "
               "not tensor_parallel",
               "--set tensor_parallel=null"},
              {{"pool={}"}, "--set pool={}: pool: given, but only pooled", "pool=null"},
              {{"workload.in_flight=3"}, loaded, loaded}});
  check_runs("two_device", {{{"pool={window: 1 us}"},
                             "--set pool={window: 1 us}: pool: given, but only pooled has a pool",
                             "--set pool=null"},
                            {{"tensor_parallel={devices: 2}"},
                             "--set tensor_parallel={devices: 2}: tensor_parallel: given",
                             "=null"},
                            {{"pool=null", "tensor_parallel=~"}, loaded, loaded}});
  check_runs(
      "tensor_parallel",
      {{{"cache={split: heads}"},
        "--set cache={split: heads}: cache: given, but only two_device and pooled have cache "
        "devices",
        "--set cache=null"},
       {{"cache_device=ideal"},
        "--set cache_device=ideal: cache_device: given, but only two_device and pooled have "
        "cache devices",
        "; legal: nothing here; remove it, or --set cache_device=null"},
       {{"pool.projections=pool"}, "--set pool.projections=pool: pool: given", "pool=null"},
       {{"link=null"},
        "--set link=null: link: missing, needed where there is more than one device",
        "or a map"}});
}

TEST_CASE("keys of the arrangements are spelt and typed like all others") {
  check_runs("pooled",
             {{{"pool.instance=2"},
               "--set pool.instance=2: pool.instance: unknown key; legal: "
               "instances, projections, batching, sweep_batch, window",
               "did you mean 'instances'?"},
              {{"pool.projections=cache"},
               "--set pool.projections=cache: pool.projections: 'cache'; legal: cache_side, pool, "
               "per_wave",
               "did you mean 'cache_side'?"},
              {{"pool.batching=all"},
               "--set pool.batching=all: pool.batching: 'all'; legal: wave, ready, request",
               "request"},
              {{"pool.window=5"}, "--set pool.window=5: pool.window: '5' has no unit", "fs"},
              {{"pool.instances=0"},
               "--set pool.instances=0: pool.instances: '0'; legal: a whole number from 1 to 1024",
               "1024"},
              {{"cache.devices=0"}, "--set cache.devices=0: cache.devices: '0'", "1 to 1024"},
              {{"cache.split=head"},
               "--set cache.split=head: cache.split: 'head'; legal: heads, "
               "positions, any",
               "did you mean 'heads'?"},
              {{"cache.merge=random"},
               "--set cache.merge=random: cache.merge: 'random'; legal: fixed, arrival, tree",
               "tree"},
              {{"cache.ports=two"},
               "--set cache.ports=two: cache.ports: 'two'; legal: shared, own",
               "own"},
              {{"cache.seed=-1"}, "--set cache.seed=-1: cache.seed: '-1'", "in digits"},
              {{"workload.in_flight=0"},
               "--set workload.in_flight=0: workload.in_flight: '0'",
               "from 1 to 65536"},
              {{"crossovers=maybe"},
               "--set crossovers=maybe: crossovers: 'maybe'; legal: on, off",
               "off"}});
  check_runs("tensor_parallel",
             {{{"tensor_parallel.devices=1"},
               "--set tensor_parallel.devices=1: tensor_parallel.devices: '1'; legal: a whole "
               "number from 2 to 1024",
               "1024"}});
}

TEST_CASE("parts must divide what they are parts of") {
  check_runs(
      "two_device",
      {{{"cache={devices: 3, split: heads}"},
        "--set cache={devices: 3, split: heads}: cache.devices: 3",
        "; legal: a divisor of model.kv_heads (8) with split heads"},
       {{"cache={devices: 16, split: heads}"},
        "--set cache={devices: 16, split: heads}: cache.devices: 16",
        "split heads"},
       {{"cache={devices: 3}"}, loaded, loaded},
       {{"cache={devices: 8, split: heads, merge: tree, ports: own, seed: 7}"}, loaded, loaded},
       {{"cache={devices: 1, split: any, merge: arrival, seed: 7}"}, loaded, loaded}});
  check_runs("tensor_parallel",
             {{{"tensor_parallel.devices=3"},
               "--set tensor_parallel.devices=3: tensor_parallel.devices: 3",
               "; legal: a divisor above 1 of model.heads (16), kv_heads (8), ffn (3072) and vocab "
               "(151936)"},
              {{"tensor_parallel.devices=16"},
               "--set tensor_parallel.devices=16: tensor_parallel.devices: 16",
               "vocab (151936)"},
              {{"model.vocab=151937"},
               "--set model.vocab=151937: tensor_parallel.devices: 2",
               "vocab (151937)"},
              {{"tensor_parallel.devices=8"}, loaded, loaded}});
}

TEST_CASE("contexts of the requests are one for each of a wave") {
  check_runs("pooled",
             {{{"workload.request_contexts=[1, 2, 3]"},
               "--set workload.request_contexts=[1, 2, 3]: workload.request_contexts: 3 of them",
               "; legal: one for each request of a wave, workload.batch (2)"},
              {{"workload.request_contexts=[1 Ki, 4 Ki]", "workload.batch=3"},
               "--set workload.request_contexts=[1 Ki, 4 Ki]: workload.request_contexts: 2 of them",
               "workload.batch (3)"},
              {{"workload.request_contexts=[1 Ki, 4 Ki]", "workload.in_flight=3"}, loaded, loaded},
              {{"workload.request_contexts=[1 Ki, -4]"},
               "--set workload.request_contexts=[1 Ki, -4]: workload.request_contexts: '-4' is "
               "negative",
               "1 Ti"}});
  const RunConfig run =
      load_with("pooled", {"workload.request_contexts=[7, 9]", "workload.in_flight=2"});
  CHECK(request_contexts(run, 4096) == std::vector<std::size_t>{7, 9, 7, 9});
  CHECK(request_contexts(run, 100) == std::vector<std::size_t>{100, 100, 100, 100});
}

TEST_CASE("what a pool cannot do") {
  const std::string keeps =
      "whose queries read the network's input, which a stateless pool does not keep; legal: "
      "cache_side with single_q";
  check_runs(
      "pooled",
      {{{"pool.projections=pool", "block=single_q"},
        "--set pool.projections=pool: pool.projections: pool, with block single_q, ",
        keeps},
       {{"pool.projections=pool", "compare=[standard, single_q]"},
        "--set pool.projections=pool: pool.projections: pool, with compare single_q, ",
        keeps},
       // Beside a cache device a tenth as fast reading Wo pays from 10 requests on.
       {{"pool.projections=per_wave", "block=single_q", "cache_device.bandwidth=0.1 TB/s"},
        "--set pool.projections=per_wave: pool.projections: per_wave (pool at batch 2), "
        "with block single_q, ",
        keeps},
       {{"pool.projections=per_wave", "block=single_q"}, loaded, loaded},
       {{"block=single_q"}, loaded, loaded},
       {{"pool.projections=pool", "current_token=append_first"}, loaded, loaded},
       {{"pool={window: 1 us, batching: wave, sweep_batch: request}"},
        "--set pool={window: 1 us, batching: wave, sweep_batch: request}: pool.window: 1 us, "
        "but no launch takes what is ready",
        "; legal: 0 s, or pool.batching or pool.sweep_batch ready"},
       {{"pool={window: 1 us, batching: wave}"}, loaded, loaded},
       {{"pool={window: 1 us}"}, loaded, loaded}});
}

TEST_CASE("the operations of a run grow with waves, shards and ranks") {
  check_runs("two_device",
             {{{"workload={context: 1, in_flight: 17700}"},
               "--set workload={context: 1, in_flight: 17700}: workload.in_flight: 17700 (batch 1, "
               "in_flight 17700, tokens 1, layers 28: 4000200 operations)",
               "; legal: batch * in_flight * tokens up to 17699 with these layers, 4000000 "
               "operations"},
              {{"workload={context: 1, in_flight: 17699}"}, loaded, loaded},
              // 8 + 2 * 7 operations a layer
              {{"workload={context: 1, batch: 6473}", "cache.devices=8"},
               "--set workload={context: 1, batch: 6473}: workload.batch: 6473 (batch 6473, tokens "
               "1, layers 28: 4000314 operations)",
               "; legal: batch * tokens up to 6472 with these layers, 4000000 operations"},
              {{"workload={context: 1, batch: 6472}", "cache.devices=8"}, loaded, loaded}});
  check_runs(
      "tensor_parallel",
      {{{"workload={context: 1, batch: 2000}", "tensor_parallel.devices=8"},
        "--set workload={context: 1, batch: 2000}: workload.batch: 2000 ",
        "4000000 operations"},
       {{"workload={context: 1, batch: 700}", "tensor_parallel.devices=8"}, loaded, loaded}});
  check_runs("two_device",
             {{{"cache={devices: 2, split: any}", "workload.contexts=[1 Gi]"},
               "--set workload.contexts=[1 Gi]: cache.split: any, which draws each of 2147483648 "
               "positions at context 1 Gi",
               "; legal: up to 256 Mi positions of all requests with split any"}});
}

TEST_CASE("a fault must be able to happen in the arrangement") {
  const std::string query = "numerics.inject.fault=alter_in_flight";
  check_runs("pooled",
             {{{query},
               "--set " + query +
                   ": numerics.inject: nothing in layer 0 of step 0 for the fault "
                   "alter_in_flight",
               "a fault that can happen in `block` and in each of `compare`"},
              {{query, "cache.devices=2"}, loaded, loaded},
              {{query, "pool.projections=pool"}, loaded, loaded},
              {{"numerics.inject.fault=skip_position", "workload.request_contexts=[0, 3]"},
               loaded,
               loaded},
              {{"numerics.inject.fault=skip_position", "workload.request_contexts=[0, 0]"},
               "--set numerics.inject.fault=skip_position: numerics.inject: nothing in layer 0",
               "each of `compare`"}});
  check_runs("tensor_parallel",
             {{{query}, "--set " + query + ": numerics.inject: nothing in layer 0", "`compare`"}});
}

TEST_CASE("each device of an arrangement must hold its share") {
  const auto complaint = [](const std::string& arrangement,
                            const std::vector<std::string>& overrides) {
    const ConfigFolder folder;
    return folder.complaint(folder.write("run.yaml", text_of(arrangement)), overrides);
  };
  // 112 KiB a position in all layers; 2 requests of 4 Ki + 2 positions each: 896.4375 MiB.
  const std::string whole = "cache_device.capacity=917952 KiB";
  CHECK(complaint("two_device", {whole}) == "loaded");
  CHECK(
      complaint("two_device", {whole, "workload.in_flight=2"}).find("batch 2, in_flight 2, tok") !=
      std::string::npos);
  CHECK(complaint("two_device", {"cache_device.capacity=917951 KiB"}) != "loaded");
  CHECK(complaint("two_device", {whole, "workload.request_contexts=[4095, 4097]"}) == "loaded");
  CHECK(complaint("two_device", {whole, "workload.request_contexts=[4096, 4097]"})
            .find("at least 896.6 MiB for the KV cache at workload.request_contexts, batch 2") !=
        std::string::npos);
  // Of two devices by heads exactly half; by positions, the two tokens go to either device.
  for (const char* split : {"heads", "positions"}) {
    const std::string by = fmt::format("cache={{devices: 2, split: {}}}", split);
    CHECK(complaint("two_device", {"cache_device.capacity=458976 KiB", by}) == "loaded");
    CHECK(complaint("two_device", {"cache_device.capacity=458975 KiB", by})
              .find("for the largest share of the KV cache at context 4096") != std::string::npos);
  }
  // 4099 positions on 3 devices: 1367 on the last; the tokens go to the shorter ones.
  const std::string odd = "workload={context: 4099, tokens: 2}";
  CHECK(complaint("two_device", {"cache_device.capacity=153104 KiB", "cache.devices=3", odd}) ==
        "loaded");
  CHECK(complaint("two_device", {"cache_device.capacity=153103 KiB", "cache.devices=3", odd}) !=
        "loaded");
}

TEST_CASE("the largest share of a cache split at random decides") {
  const ShardPlan plan({4, SplitBy::any, MergeOrder::fixed, 5}, 0, 1000, 2);
  std::size_t most = 0;
  for (std::size_t shard = 0; shard < 4; ++shard) {
    most = std::max(most, plan.rows(shard, 2));
  }
  CHECK(most > 251);
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", text_of("two_device"));
  const auto with = [&](std::size_t kib) {
    return folder.complaint(
        file, {"workload={context: 1000, tokens: 2}", "cache={devices: 4, split: any, seed: 5}",
               fmt::format("cache_device.capacity={} KiB", kib)});
  };
  CHECK(with(112 * most) == "loaded");
  CHECK(with(112 * most - 1) != "loaded");
}

TEST_CASE("a pool and an owner hold weights of their own") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", text_of("pooled"));
  const auto with = [&](std::int64_t pool, std::int64_t owner, const std::string& projections) {
    return folder.complaint(file, {fmt::format("compute_device.capacity={} B", pool),
                                   fmt::format("cache_device.capacity={} B", owner),
                                   "pool.projections=" + projections});
  };
  // DESIGN.md 7: Wq and Wo 8,388,608 B and the pool's weights 23,068,672 B a layer; 28 layers; the
  // vocabulary 151,936 x 1024 bf16 values on both sides.
  const std::int64_t vocabulary = 151'936LL * 1024 * 2;
  const std::int64_t pairs = 28LL * 8'388'608;
  const std::int64_t others = 28LL * 23'068'672;
  const std::int64_t cache = 2LL * 4098 * 112 * 1024;
  CHECK(with(others + vocabulary, pairs + vocabulary + cache, "cache_side") == "loaded");
  CHECK(with(others + vocabulary - 1, pairs + vocabulary + cache, "cache_side")
            .find("for the weights of a pool (ffn, k, v, LM head)") != std::string::npos);
  CHECK(with(others + vocabulary, pairs + vocabulary + cache - 1, "cache_side")
            .find("for the weights of a request's owner (q, o, embedding) (") != std::string::npos);
  CHECK(with(others + pairs + vocabulary, vocabulary + cache, "pool") == "loaded");
  CHECK(with(others + pairs + vocabulary, vocabulary + cache - 1, "pool")
            .find("owner (embedding) (") != std::string::npos);
  CHECK(with(others + pairs + vocabulary - 1, vocabulary + cache, "pool")
            .find("a pool (q, o, ffn, k, v, LM head)") != std::string::npos);
  // The other cache devices hold only their share.
  const std::string three = "cache={devices: 4, split: heads}";
  CHECK(folder.complaint(file, {three, fmt::format("cache_device.capacity={} B",
                                                   pairs + vocabulary + cache / 4)}) == "loaded");
  CHECK(folder
            .complaint(file, {three, fmt::format("cache_device.capacity={} B",
                                                 pairs + vocabulary + cache / 4 - 1)})
            .find("its share of the KV cache") != std::string::npos);
}

TEST_CASE("tensor parallel devices hold a part of everything, and the embedding") {
  const ConfigFolder folder;
  const auto file = folder.write("run.yaml", text_of("tensor_parallel"));
  const auto with = [&](std::int64_t bytes, const std::string& tied) {
    return folder.complaint(file, {fmt::format("compute_device.capacity={} B", bytes),
                                   "tensor_parallel.devices=4", "model.tied_embedding=" + tied});
  };
  const std::int64_t vocabulary = 151'936LL * 1024 * 2;
  const std::int64_t layers = 28LL * (8'388'608 + 23'068'672);
  const std::int64_t cache = 2LL * 4098 * 112 * 1024;
  CHECK(with(layers / 4 + vocabulary + cache / 4, "true") == "loaded");
  CHECK(with(layers / 4 + vocabulary + cache / 4 - 1, "true")
            .find("for a device's part of the weights (") != std::string::npos);
  CHECK(with(layers / 4 + vocabulary + vocabulary / 4 + cache / 4, "false") == "loaded");
  CHECK(with(layers / 4 + vocabulary + vocabulary / 4 + cache / 4 - 1, "false") != "loaded");
}

TEST_CASE("the keys of the arrangements are read, printed and read again") {
  const RunConfig run = load_with(
      "pooled", {"cache={devices: 4, split: heads, merge: tree, seed: 9, ports: own}",
                 "pool={instances: 3, projections: pool, batching: wave, sweep_batch: request}",
                 "workload={context: 5, batch: 2, in_flight: 3, request_contexts: [4, 6]}",
                 "crossovers=off"});
  CHECK(run.cache.split == CacheSplit{4, SplitBy::heads, MergeOrder::tree, 9});
  CHECK(run.cache.ports == Ports::own);
  CHECK(run.pool.instances == 3);
  CHECK(run.pool.projections == ProjectionsChoice::pool);
  CHECK(run.pool.batching == Gather::wave);
  CHECK(run.pool.sweep_batch == Gather::request);
  CHECK(run.workload.requests() == 6);
  CHECK(run.crossovers == CrossoverSearch::off);
  const std::string resolved = to_yaml(run);
  CHECK(resolved.find("tensor_parallel") == std::string::npos);
  const ConfigFolder folder;
  CHECK(to_yaml(load_run_config(folder.write("config.yaml", resolved))) == resolved);
  const std::string parallel = to_yaml(load_with("tensor_parallel", {}));
  CHECK(parallel.find("\ntensor_parallel:\n  devices: 2\n") != std::string::npos);
  CHECK(parallel.find("\ncache") == std::string::npos);
  CHECK(parallel.find("\npool") == std::string::npos);
  CHECK(to_yaml(load_with("two_device", {})).find("\ncrossovers: on\n") != std::string::npos);
}

TEST_CASE("a cache is resident for every request of every wave") {
  const auto resident = [](const std::vector<std::string>& overrides) {
    return resident_kv_bytes(load_with("two_device", overrides), 4096);
  };
  // 112 KiB a position; two requests of 4096 + 2 positions.
  CHECK(resident({}) == Bytes(2LL * 4098 * 112 * 1024));
  CHECK(resident({"workload.in_flight=3"}) == Bytes(6LL * 4098 * 112 * 1024));
  CHECK(resident({"workload.request_contexts=[1, 5]", "workload.in_flight=3"}) ==
        Bytes(3LL * (1 + 5 + 4) * 112 * 1024));
  CHECK(resident({"cache.devices=4"}) == resident({}));
}

}  // namespace qfs::test
