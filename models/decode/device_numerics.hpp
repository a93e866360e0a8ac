// The numeric side of a device: the data that it holds and the kernels that run on it. A device
// reads nothing else: its weights, its caches, and buffers that it filled itself or received in a
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "decode/attention_method.hpp"
#include "decode/cache_split.hpp"
#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/partials.hpp"
#include "decode/values.hpp"

namespace qfs {

/// The members of one launch: operations of one kind, layer and step, of different requests.
using Members = std::span<const Operation* const>;
/// One output per member, laid out as values.hpp says.
using Outputs = std::vector<std::vector<float>>;

/// What of the model a device holds.
struct Holdings {
  std::set<OpKind> operations;  // that it can run: it holds their weights
  Part weights = {};            // which part of them
  /// Of every request and layer's KV cache: this shard. Empty: no cache.
  std::optional<std::size_t> shard = {};
  CacheSplit split = {};
  MergeOrder merge = MergeOrder::fixed;  // where it merges what others swept
};

class DeviceNumerics {
 public:
  /// Copies the initial caches if it holds them. `graph` and `inputs` outlive it.
  DeviceNumerics(const Graph& graph, const Inputs& inputs, Holdings holdings,
                 AttentionMethod attention = {});
  virtual ~DeviceNumerics() = default;
  DeviceNumerics(const DeviceNumerics&) = delete;
  DeviceNumerics& operator=(const DeviceNumerics&) = delete;

  /// Runs the kernel of one launch on what the buffers hold now. Changes nothing that others see.
  virtual Outputs compute(Members members);
  /// Makes an output visible to this device's later operations, each value rounded to its format;
  /// an append's rows land in the cache. Returns the output as the kernel made it, for the check;
  /// an append's as read back from the cache.
  std::vector<float> store(const Operation& producer, std::span<const float> output);
  /// Adds a value of a stored output to a message.
  void send(const Operation& producer, const Carried& carried,
            std::vector<std::byte>& payload) const;
  /// Takes a value of a producer on another device off the front of a message; returns the rest.
  virtual std::span<const std::byte> receive(const Operation& producer, const Carried& carried,
                                             std::span<const std::byte> payload);

 protected:
  /// The input number `index` of an operation, as this device's buffers hold it now.
  [[nodiscard]] std::span<float> argument(const Operation& operation, std::size_t index);
  [[nodiscard]] const ModelShape& shape() const { return inputs_.shape(); }
  /// The buffer of a producer's output; zeros if nothing has been put there yet.
  std::vector<float>& buffer(const Operation& producer);

 private:
  // Buffers have one address per request, layer, kind and shard, the same in every step, as on a
  // real device: who reads too early finds zeros or the value of the step before.
  using BufferKey = std::tuple<RequestId, LayerId, OpKind, std::size_t>;
  struct Buffer {
    std::vector<float> values;
    std::uint64_t written = 0;  // the how manieth of all writes to this device's buffers
  };
  /// Columns of weight matrices, for a device that holds a part of their inputs.
  struct LayerColumns {
    RowStore o;
    RowStore down;
  };

  void take_caches(std::size_t shard);
  void cut_columns();
  Outputs embed(Members members);
  Outputs project(Members members);
  Outputs append(Members members);
  Outputs sweep(Members members);
  Outputs scores(Members members);
  Outputs values(Members members);
  Outputs merge(Members members);
  Outputs output(Members members);
  Outputs feed_forward(Members members);
  Outputs reduce(Members members);
  Outputs hold(Members members);
  Outputs lm_head(Members members);
  [[nodiscard]] std::size_t chosen_token(const Operation& embed);
  [[nodiscard]] std::vector<Partial> partials(const Operation& merge);
  void fold_weighed(const Operation& merge, Partial& state);
  [[nodiscard]] KvRows landed_rows(const Operation& operation);
  [[nodiscard]] std::vector<float> normed(Members members, const std::vector<Bf16>& gain);
  void finish_heads(const Operation& operation, std::span<float> heads,
                    const std::vector<Bf16>& gain) const;
  [[nodiscard]] const LayerWeights& layer_weights(const Operation& operation) const;
  /// The rows of a matrix that belong to this device's part.
  [[nodiscard]] Matrix own_rows(const RowStore& w) const { return own_rows(w.view()); }
  [[nodiscard]] Matrix own_rows(const Matrix& w) const;
  /// The own columns of Wo and of the feed-forward's last matrix.
  [[nodiscard]] Matrix o_weights(const Operation& operation) const;
  [[nodiscard]] Matrix down_weights(const Operation& operation) const;
  [[nodiscard]] KvCache& cache(const Operation& operation);
  /// The shape of an operation's part.
  [[nodiscard]] ModelShape own_shape(const Operation& operation) const {
    return part_of(shape(), operation.part);
  }
  Buffer& buffer_of(const Operation& producer);

  const Graph& graph_;
  const Inputs& inputs_;
  Holdings holdings_;
  AttentionMethod attention_;
  std::vector<KvCache> caches_;
  std::vector<LayerColumns> columns_;  // by layer; empty where the device holds all of them
  std::map<BufferKey, Buffer> buffers_;
  std::uint64_t writes_ = 0;
};

}  // namespace qfs
