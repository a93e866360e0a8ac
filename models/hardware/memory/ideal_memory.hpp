// The ideal tier: a launch takes bytes / peak bandwidth; m streams in flight get a fair share of
// 1/m each.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <systemc>

#include "base/units.hpp"
#include "hardware/memory/memory.hpp"

namespace qfs {

class IdealMemory : public sc_core::sc_module, public Memory {
 public:
  /// bandwidth > 0; unlimited is legal.
  IdealMemory(sc_core::sc_module_name name, BytesPerSecond bandwidth);

  using Memory::start;
  std::shared_ptr<Transfer> start(std::span<const Stream> streams) override;

 private:
  // Fair sharing in virtual time: served_ counts the bytes that a stream present since the last
  // idle moment has got. A stream that joins at served_ = s with b bytes finishes at s + b, whoever
  // comes or goes in between.
  void advance();
  void reschedule();
  void complete_due();
  [[nodiscard]] double share_per_femtosecond() const;

  double bytes_per_femtosecond_;
  double served_ = 0;
  Femtoseconds last_;  // when served_ was brought up to date
  std::multimap<double, std::shared_ptr<Transfer>> in_flight_;  // by finishing value of served_
  sc_core::sc_event ev_due_;
};

}  // namespace qfs
