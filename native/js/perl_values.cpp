// SPDX-License-Identifier: Apache-2.0
#include "js/perl_values.h"

#include <algorithm>
#include <string>

namespace polytop {

namespace {

Napi::Array range(Napi::Env env, const perl_code_range& from) {
  Napi::Array pair = Napi::Array::New(env, 2);
  pair.Set(0u, from.start);
  pair.Set(1u, from.end);
  return pair;
}

Napi::Object stringOf(Napi::Env env, const perl_string& from) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("encoding", from.encoding);
  object.Set("length", from.length);
  object.Set("bytes", Napi::Buffer<char>::Copy(env, from.bytes, std::min<uint32_t>(from.length, PERL_NAME_BYTES)));
  return object;
}

}  // namespace

Napi::Object describePerl(Napi::Env env, uint32_t index, const PerlFile& perl) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("index", index);
  object.Set("version", perl.version);
  object.Set("warning", perl.warning);
  object.Set("refused", (perl.facts.flags & PERL_REFUSED) != 0);
  Napi::Array names = Napi::Array::New(env, perl.opNames.size());
  for (size_t i = 0; i < perl.opNames.size(); i++) names.Set(static_cast<uint32_t>(i), perl.opNames[i]);
  object.Set("opNames", names);
  Napi::Object code = Napi::Object::New(env);
  Napi::Array loops = Napi::Array::New(env, 2);
  loops.Set(0u, range(env, perl.code.runLoops[0]));
  loops.Set(1u, range(env, perl.code.runLoops[1]));
  code.Set("runLoops", loops);
  code.Set("run", range(env, perl.code.run));
  code.Set("parse", range(env, perl.code.parse));
  code.Set("destruct", range(env, perl.code.destruct));
  code.Set("callSub", range(env, perl.code.callSub));
  code.Set("callList", range(env, perl.code.callList));
  object.Set("code", code);
  return object;
}

Napi::Array describePerlNames(Napi::Env env, const std::vector<perl_name_record>& names) {
  Napi::Array list = Napi::Array::New(env, names.size());
  for (size_t i = 0; i < names.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", Napi::BigInt::New(env, static_cast<uint64_t>(names[i].name)));
    object.Set("kind", names[i].kind);
    object.Set("flags", names[i].flags);
    object.Set("sub", stringOf(env, names[i].parts[PERL_PART_SUB]));
    object.Set("package", stringOf(env, names[i].parts[PERL_PART_PACKAGE]));
    object.Set("file", stringOf(env, names[i].parts[PERL_PART_FILE]));
    list.Set(static_cast<uint32_t>(i), object);
  }
  return list;
}

void addPerlConstants(Napi::Env env, Napi::Object& constants) {
  Napi::Object perl = Napi::Object::New(env);
  perl.Set("sub", static_cast<uint32_t>(PERL_SUB));
  perl.Set("format", static_cast<uint32_t>(PERL_FORMAT));
  perl.Set("eval", static_cast<uint32_t>(PERL_EVAL));
  perl.Set("main", static_cast<uint32_t>(PERL_MAIN));
  perl.Set("xsub", static_cast<uint32_t>(PERL_XSUB));
  perl.Set("xsubCode", static_cast<uint32_t>(PERL_XSUB_CODE));
  perl.Set("cut", static_cast<uint32_t>(PERL_CUT));
  perl.Set("stop", static_cast<uint32_t>(PERL_STOP));
  perl.Set("folded", static_cast<uint32_t>(PERL_FOLDED));
  perl.Set("native", static_cast<uint32_t>(PERL_NATIVE));
  perl.Set("kindMask", static_cast<uint32_t>(PERL_KIND_MASK));
  perl.Set("stackShift", static_cast<uint32_t>(PERL_STACK_SHIFT));
  perl.Set("stackMask", static_cast<uint32_t>(PERL_STACK_MASK));
  perl.Set("opShift", static_cast<uint32_t>(PERL_OP_SHIFT));
  perl.Set("opMask", static_cast<uint32_t>(PERL_OP_MASK));
  perl.Set("fileShift", static_cast<uint32_t>(PERL_FILE_SHIFT));
  perl.Set("nameLexical", static_cast<uint32_t>(PERL_NAME_LEXICAL));
  perl.Set("nameNone", static_cast<uint32_t>(PERL_NAME_NONE));
  perl.Set("nameNoStash", static_cast<uint32_t>(PERL_NAME_NO_STASH));
  perl.Set("utf8", static_cast<uint32_t>(PERL_UTF8));
  perl.Set("latin1", static_cast<uint32_t>(PERL_LATIN1));
  constants.Set("perl", perl);
}

}  // namespace polytop
