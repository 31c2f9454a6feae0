// SPDX-License-Identifier: Apache-2.0
//
// Layouts of V8 on 64-bit machines without pointer compression, as official builds of Node have them: 10.2 (Node 18),
// 11.3 (20), 12.4 (22), 13.6 (24), 14.1 (25), 14.6 (26).
#include "v8/v8_layout.h"

#include <algorithm>

namespace polytop {

namespace {

/// What 10.2 and 11.3 have in common.
constexpr v8_layout kOldest = {
    .function_shared = 24,
    .function_code = 48,
    .shared_data = 8,
    .shared_name = 16,
    .shared_script = 32,
    .shared_literal = 52,
    .shared_unique = 0,
    .bytecode_positions = 32,
    .bytecode_first = 55,
    .code_deopt = 16,
    .code_positions = 24,
    .code_start = 0,
    .code_size = 40,
    .code_flags = 48,
    .scope_slots = 3,
    .scope_module = 3,
    .type_first_function = 0,
    .type_last_function = 0,
    .type_shared = 0,
    .type_script = 0,
    .type_scope = 0,
    .type_bytecode = 0,
    .type_code = 0,
    .type_interpreter_data = 0,
    .entry_frame = 0,
    .regexp_frame = 0,
    .wasm_frame = 0,
    .kind_baseline = 11,
    .deopt_literals = 2,
    .deopt_inlining = 7,
    .deopt_shared = 6,
    .deopt_id = 5,
};

constexpr v8_layout eleven() {
  v8_layout layout = kOldest;
  layout.bytecode_first = 53;
  layout.code_start = 40;
  layout.code_size = 56;
  return layout;
}

constexpr v8_layout twelve() {
  v8_layout layout = kOldest;
  layout.function_shared = 32;
  layout.function_code = 24;
  layout.shared_unique = 56;
  layout.bytecode_positions = 24;
  layout.bytecode_first = 63;
  layout.code_deopt = 8;
  layout.code_positions = 16;
  layout.code_start = 40;
  layout.code_size = 52;
  layout.kind_baseline = 10;
  return layout;
}

constexpr v8_layout thirteen() {
  v8_layout layout = twelve();
  // A number of a table leads to it.
  layout.function_code = 0;
  layout.shared_name = 24;
  layout.shared_script = 40;
  layout.shared_literal = 60;
  layout.shared_unique = 64;
  layout.code_size = 56;
  layout.code_flags = 52;
  layout.scope_slots = 5;
  layout.scope_module = 5;
  layout.deopt_literals = 3;
  layout.deopt_inlining = 8;
  layout.deopt_shared = 7;
  layout.deopt_id = 6;
  return layout;
}

constexpr v8_layout fourteen(uint16_t baseline) {
  v8_layout layout = thirteen();
  layout.kind_baseline = baseline;
  return layout;
}

constexpr uint32_t kFrom12 = V8_UNIQUE_IDS | V8_MODULE_SLOT;
constexpr uint32_t kFrom13 = kFrom12 | V8_TRUSTED_DATA | V8_TRANSLATIONS;
constexpr uint32_t kFrom14 = kFrom13 | V8_UNSIGNED_TABLE;

constexpr V8Version kVersions[] = {
    {10, 2, 0, kOldest},          {11, 3, V8_MODULE_SLOT, eleven()}, {12, 4, kFrom12, twelve()},
    {13, 6, kFrom13, thirteen()}, {14, 1, kFrom14, fourteen(10)},    {14, 6, kFrom14, fourteen(11)},
};

constexpr V8Constant kOffsets[] = {
    {"v8dbg_class_JSFunction__shared__SharedFunctionInfo", &v8_layout::function_shared},
    {"v8dbg_class_SharedFunctionInfo__function_data__Object", &v8_layout::shared_data},
    {"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", &v8_layout::shared_name},
    {"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", &v8_layout::shared_name},
    {"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", &v8_layout::shared_name},
    {"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", &v8_layout::shared_script},
    {"v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", &v8_layout::shared_script},
    {"v8dbg_class_Code__instruction_start__Address", &v8_layout::code_start},
    {"v8dbg_class_Code__instruction_size__int", &v8_layout::code_size},
    {"v8dbg_class_Code__flags__uint32_t", &v8_layout::code_flags},
    {"v8dbg_class_Code__deoptimization_data__FixedArray", &v8_layout::code_deopt},
    {"v8dbg_class_Code__source_position_table__ByteArray", &v8_layout::code_positions},
    {"v8dbg_scopeinfo_idx_first_vars", &v8_layout::scope_slots},
    {"v8dbg_CodeKindBaseline", &v8_layout::kind_baseline},
    {"v8dbg_DeoptimizationDataLiteralArrayIndex", &v8_layout::deopt_literals},
    {"v8dbg_DeoptimizationDataInliningPositionsIndex", &v8_layout::deopt_inlining},
    {"v8dbg_DeoptimizationDataSharedFunctionInfoIndex", &v8_layout::deopt_shared},
    {"v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex", &v8_layout::deopt_shared},
};

constexpr V8Constant kNumbers[] = {
    {"v8dbg_FirstJSFunctionType", &v8_layout::type_first_function},
    {"v8dbg_LastJSFunctionType", &v8_layout::type_last_function},
    {"v8dbg_type_JSFunction__JS_FUNCTION_TYPE", &v8_layout::type_first_function},
    {"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", &v8_layout::type_shared},
    {"v8dbg_type_Script__SCRIPT_TYPE", &v8_layout::type_script},
    {"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", &v8_layout::type_scope},
    {"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", &v8_layout::type_bytecode},
    {"v8dbg_type_Code__CODE_TYPE", &v8_layout::type_code},
    {"v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE", &v8_layout::type_interpreter_data},
    {"v8dbg_frametype_EntryFrame", &v8_layout::entry_frame},
    {"v8dbg_frametype_IrregexpFrame", &v8_layout::regexp_frame},
    {"v8dbg_frametype_WasmFrame", &v8_layout::wasm_frame},
};

constexpr V8Common kCommons[] = {
    {"v8dbg_off_fp_function", -16},
    {"v8dbg_off_fp_context_or_frame_type", -8},
    {"v8dbg_off_fp_bytecode_array", -32},
    {"v8dbg_off_fp_bytecode_offset", -40},
    {"v8dbg_HeapObjectTag", 1},
    {"v8dbg_HeapObjectTagMask", 3},
    {"v8dbg_SmiShiftSize", 31},
    {"v8dbg_class_Map__instance_type__uint16_t", 12},
    {"v8dbg_class_String__length__int32_t", 12},
    {"v8dbg_class_SeqOneByteString__chars__char", 16},
    {"v8dbg_class_ConsString__first__String", 16},
    {"v8dbg_class_ConsString__second__String", 24},
    {"v8dbg_class_ExternalString__resource__Object", 16},
    {"v8dbg_class_Script__source__Object", 8},
    {"v8dbg_class_Script__name__Object", 16},
    {"v8dbg_FirstNonstringType", 128},
    {"v8dbg_StringRepresentationMask", 7},
    {"v8dbg_OneByteStringTag", 8},
    {"v8dbg_ConsStringTag", 1},
    {"v8dbg_ExternalStringTag", 2},
};

}  // namespace

const V8Version* v8Version(uint32_t major, uint32_t minor) {
  const auto* found = std::find_if(std::begin(kVersions), std::end(kVersions),
                                   [=](const V8Version& it) { return it.major == major && it.minor == minor; });
  return found == std::end(kVersions) ? nullptr : found;
}

std::span<const V8Constant> v8Offsets() { return kOffsets; }
std::span<const V8Constant> v8Numbers() { return kNumbers; }
std::span<const V8Common> v8Commons() { return kCommons; }

}  // namespace polytop
