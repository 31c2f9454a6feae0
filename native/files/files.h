// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/disk_cache.h"
#include "files/builder.h"
#include "files/catalog.h"
#include "files/kept_parts.h"
#include "files/naming.h"
#include "mapped/dotnet_places.h"

namespace polytop {

/// The files that samples hit: what is known of them, what makes it known, and what it is asked for.
struct Files {
  /// `parser`: the path of the program that reads them.
  explicit Files(const std::string& parser)
      : kept(catalog, cache), builder(catalog, cache, parser), naming(catalog, parser) {}

  Catalog catalog;
  DiskCache cache;
  KeptParts kept;
  DotnetPlaces dotnetPlaces;  ///< what processes have mapped is told to it
  FileBuilder builder;
  Naming naming;

  /// `session` must outlive this object. `cacheFolder`: where what was made of files is kept from run to run, empty for
  /// nowhere. Throws a Failure.
  void open(const Session& session, const std::string& cacheFolder) {
    catalog.open(session);
    cache.open(cacheFolder);
    dotnetPlaces.open(session);
    builder.open();
  }

  /// Has the files read that processes execute just now.
  void announceRunning(const Session& session) {
    builder.announceRunning(
        session, [this](uint32_t pid, const Mapping& code) { dotnetPlaces.note(pid, code.start, code.path); });
  }
};

}  // namespace polytop
