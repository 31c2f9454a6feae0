// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "files/builder.h"
#include "files/catalog.h"
#include "files/naming.h"

namespace polytop {

/// The files that samples hit: what is known of them, what makes it known, and what it is asked for.
struct Files {
  /// `parser`: the path of the program that reads them.
  explicit Files(const std::string& parser) : builder(catalog, parser), naming(catalog, parser) {}

  Catalog catalog;
  FileBuilder builder;
  Naming naming;

  /// `session` must outlive this object; `cacheFolder` as in FileBuilder::open(). Throws a Failure.
  void open(const Session& session, const std::string& cacheFolder) {
    catalog.open(session);
    builder.open(cacheFolder);
  }
};

}  // namespace polytop
