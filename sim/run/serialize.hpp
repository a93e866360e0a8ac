// How the results of a simulation are carried from the process that made them (isolate.hpp).
#pragma once

#include <boost/serialization/deque.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <optional>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/numeric_report.hpp"
#include "hardware/execution_table.hpp"
#include "system/simulation.hpp"

namespace boost::serialization {

template <class Archive, class Unit, class Rep>
void serialize(Archive& archive, qfs::Quantity<Unit, Rep>& quantity, unsigned /*version*/) {
  Rep value = quantity.value();
  archive& value;
  quantity = qfs::Quantity<Unit, Rep>(value);
}

template <class Archive, class Value>
void serialize(Archive& archive, std::optional<Value>& optional, unsigned /*version*/) {
  bool is_there = optional.has_value();
  archive& is_there;
  if (!is_there) {
    optional.reset();
    return;
  }
  if (!optional) {
    optional.emplace();
  }
  archive&* optional;
}

template <class Archive, class Tag>
void serialize(Archive& archive, qfs::Index<Tag>& index, unsigned /*version*/) {
  std::size_t value = index.value();
  archive& value;
  index = qfs::Index<Tag>(value);
}

template <class Archive>
void serialize(Archive& archive, qfs::Resource& resource, unsigned /*version*/) {
  archive& resource.name& resource.kind;
}

template <class Archive>
void serialize(Archive& archive, qfs::Dependency& dependency, unsigned /*version*/) {
  archive& dependency.row& dependency.arrival;
}

template <class Archive>
void serialize(Archive& archive, qfs::Work& work, unsigned /*version*/) {
  archive& work.weight_bytes& work.kv_read_bytes& work.kv_written_bytes& work.activation_bytes;
  archive& work.macs& work.exps& work.launches;
}

template <class Archive>
void serialize(Archive& archive, qfs::Member& member, unsigned /*version*/) {
  archive& member.request& member.step;
}

template <class Archive>
void serialize(Archive& archive, qfs::Row& row, unsigned /*version*/) {
  archive& row.id& row.kind& row.op& row.carries& row.layer& row.shard& row.step& row.members;
  archive& row.attempt& row.fate& row.resource& row.ready& row.start& row.end& row.deps& row.work;
  archive& row.wire_bytes;
}

template <class Archive>
void serialize(Archive& archive, qfs::dram::Counters& counters, unsigned /*version*/) {
  archive& counters.read_bursts& counters.write_bursts& counters.activates& counters.precharges;
  archive& counters.precharges_all& counters.refreshes_all& counters.refreshes_bank;
}

template <class Archive>
void serialize(Archive& archive, qfs::MemoryUse& memory, unsigned /*version*/) {
  archive& memory.device& memory.parts& memory.counters;
}

template <class Archive>
void serialize(Archive& archive, qfs::ExecutionTable& table, unsigned /*version*/) {
  archive& table.resources& table.memories& table.rows;
}

template <class Archive>
void serialize(Archive& archive, qfs::OperationError& error, unsigned /*version*/) {
  archive& error.kind& error.layer& error.step& error.request& error.relative_error;
  archive& error.missing_rows& error.first_missing_row;
}

template <class Archive>
void serialize(Archive& archive, qfs::KindErrors& errors, unsigned /*version*/) {
  archive& errors.kind& errors.operations& errors.tolerance& errors.worst;
}

template <class Archive>
void serialize(Archive& archive, qfs::EndToEndError& error, unsigned /*version*/) {
  archive& error.step& error.request& error.relative_error& error.same_token;
}

template <class Archive>
void serialize(Archive& archive, qfs::Sensitivity& sensitivity, unsigned /*version*/) {
  archive& sensitivity.sweeps& sensitivity.newest& sensitivity.oldest;
}

template <class Archive>
void serialize(Archive& archive, qfs::NumericReport& report, unsigned /*version*/) {
  archive& report.kinds& report.failures& report.end_to_end& report.end_to_end_tolerance;
  archive& report.graph_error& report.graph_tolerance;
  archive& report.sensitivity;
}

template <class Archive>
void serialize(Archive& archive, qfs::SimulationResult& result, unsigned /*version*/) {
  archive& result.table& result.digest& result.numerics;
}

}  // namespace boost::serialization
