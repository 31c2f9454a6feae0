// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "files/builder.h"
#include "files/catalog.h"
#include "files/naming.h"

namespace polytop {

/// The files that samples hit: what is known of them, what makes it known, and what it is asked for.
struct Files {
  Catalog catalog;
  FileBuilder builder{catalog};
  Naming naming{catalog};

  /// `session` must outlive this object. Throws a Failure.
  void open(const Session& session) {
    catalog.open(session);
    builder.open();
  }
};

}  // namespace polytop
