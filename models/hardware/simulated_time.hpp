// The one place where femtoseconds become sc_time. The kernel's resolution is 1 fs: at SystemC's
// default of 1 ps a 2.6 GHz period would be off by 1000 ppm.
#pragma once

#include <systemc>

#include "base/units.hpp"

namespace qfs {

/// Must be called once per process, before any other sc_time is made.
inline void set_femtosecond_resolution() { sc_core::sc_set_time_resolution(1, sc_core::SC_FS); }

inline sc_core::sc_time to_sc_time(Femtoseconds time) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.value()));
}
inline sc_core::sc_time to_sc_time(Seconds time) { return to_sc_time(to_femtoseconds(time)); }

inline Femtoseconds to_femtoseconds(const sc_core::sc_time& time) {
  return Femtoseconds(static_cast<std::int64_t>(time.value()));
}
inline Femtoseconds now() { return to_femtoseconds(sc_core::sc_time_stamp()); }

}  // namespace qfs
