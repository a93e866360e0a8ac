// The numeric side of a device: the data that it holds and the kernels that run on it. A device
// reads nothing else: its weights, its caches, and buffers that it filled itself or received in a
// message.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "decode/attention_method.hpp"
#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/values.hpp"

namespace qfs {

/// The members of one launch: operations of one kind, layer and step, of different requests.
using Members = std::span<const Operation* const>;
/// One output per member, laid out as values.hpp says.
using Outputs = std::vector<std::vector<float>>;

/// What of the model a device holds.
struct Holdings {
  bool weights = false;  // static weights, embedding and LM head
  bool cache = false;    // the KV cache of every request and layer
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
  /// Adds values of a stored output to a message.
  void send(const Operation& producer, std::span<const ValueKind> values,
            std::vector<std::byte>& payload) const;
  /// Takes values of a producer on another device off the front of a message; returns the rest.
  virtual std::span<const std::byte> receive(const Operation& producer,
                                             std::span<const ValueKind> values,
                                             std::span<const std::byte> payload);

 protected:
  /// The input number `index` of an operation, as this device's buffers hold it now.
  [[nodiscard]] std::span<float> argument(const Operation& operation, std::size_t index);
  [[nodiscard]] const ModelShape& shape() const { return inputs_.shape(); }
  /// The buffer of a producer's output; zeros if nothing has been put there yet.
  std::vector<float>& buffer(const Operation& producer);

 private:
  // Buffers have one address per request, layer and kind, the same in every step, as on a real
  // device: who reads too early finds zeros or the value of the step before.
  using BufferKey = std::tuple<RequestId, LayerId, OpKind>;

  Outputs embed(Members members);
  Outputs project(Members members);
  Outputs append(Members members);
  Outputs sweep(Members members);
  Outputs merge(Members members);
  Outputs output(Members members);
  Outputs feed_forward(Members members);
  Outputs lm_head(Members members);
  [[nodiscard]] std::vector<float> normed(Members members, const std::vector<Bf16>& gain);
  void finish_heads(const Operation& operation, std::span<float> heads,
                    const std::vector<Bf16>& gain) const;
  [[nodiscard]] const LayerWeights& layer_weights(const Operation& operation) const;
  [[nodiscard]] KvCache& cache(const Operation& operation);

  const Graph& graph_;
  const Inputs& inputs_;
  const Weights* weights_ = nullptr;
  AttentionMethod attention_;
  std::vector<KvCache> caches_;
  std::map<BufferKey, std::vector<float>> buffers_;
};

}  // namespace qfs
