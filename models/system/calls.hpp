// Which operations go to a stateless pool in one call, and which results come back in one reply.
#pragma once

#include "hardware/program.hpp"
#include "system/layout.hpp"

namespace qfs {

/// Fills the program's calls and replies; nothing where nobody is called.
/// A call: operations on the pool that read each other's values within a step, or the same value of
/// the cache side. A reply: what of a call others need, in one message, unless the query on the
/// cache side reads some of it (that must not wait for the rest); a query made on the pool goes
/// ahead alone. What two operations of the cache side make for one and the same operation on the
/// pool goes in one message, too.
void add_calls(Program& program, const Layout& layout);

}  // namespace qfs
