// What the schemas say about a key besides its value.
#pragma once

namespace qfs::config {

enum class Presence { optional, required };

struct Key {
  const char* name;
  const char* meaning;
  Presence presence = Presence::optional;
  const char* refused_because = nullptr;  // set: the key does not apply to what was read before it
  const char* needed_because = nullptr;   // set: why the key is required
};

}  // namespace qfs::config
