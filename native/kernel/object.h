// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <span>
#include <string>
#include <string_view>

#include "bpf/totals.h"
#include "util/failure.h"

namespace polytop {

/// Opens a compiled BPF object, to be closed with bpf_object__close(). Throws a Failure.
bpf_object* openObject(const std::string& path);

/// Sets the constants that both objects have, and sizes what has a part for each CPU. It must be called before
/// loadObject().
void setConstants(bpf_object* object, uint32_t possibleCpus);

/// Sets a constant of 32 bits. Before loadObject(); does nothing where the object has none of that name.
void setConstant(bpf_object* object, const char* name, uint32_t value);

/// Lets an object use the maps that it has in common with the sampling object: what user space says of files and
/// processes, and what is counted. Its scratch stays its own, since a sample may interrupt it. Before loadObject();
/// throws a Failure.
void shareMaps(bpf_object* object, const bpf_object* with);

/// Leaves the programs and maps out whose names begin so. Before loadObject().
void leaveOut(bpf_object* object, std::string_view prefix);

/// Sums what programs counted on each CPU: counters, ticks, and the time that they took.
cpu_totals sumOf(std::span<const cpu_totals> cpus);

/// Sums what the programs of a loaded object counted on so many CPUs, as sumOf() does. Leaves `sums` as they are where
/// that cannot be read.
void sumTotals(const bpf_object* object, uint32_t cpus, cpu_totals& sums);

/// Makes the maps of an object and has the kernel verify its programs. Throws a Failure with the kernel's reasons.
void loadObject(bpf_object* object);

/// Calls `found` with the name, the offset and the size of each variable in a data section of the object.
template <typename Found>
void eachVariable(const bpf_object* object, const char* section, Found found) {
  const btf* types = bpf_object__btf(object);
  const btf_type* type = btf__type_by_id(types, btf__find_by_name_kind(types, section, BTF_KIND_DATASEC));
  for (int i = 0; type && i < btf_vlen(type); i++) {
    const btf_var_secinfo& variable = btf_var_secinfos(type)[i];
    found(btf__name_by_offset(types, btf__type_by_id(types, variable.type)->name_off), variable.offset, variable.size);
  }
}

}  // namespace polytop
