# SPDX-License-Identifier: Apache-2.0
# `make` builds everything that runs, into dist/: the BPF object, the addon and the bundle.
# `make tools` builds the programs that the tests of native/ run, into build/tools/.
# `make release` makes the files of a release, in out/.
# bin/setup (`npm run build`) calls it.

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:

CLANG ?= clang-19
LLVM_STRIP ?= llvm-strip-19
LLVM_OBJCOPY ?= llvm-objcopy-19
CXX := g++
MUSL_CC ?= musl-gcc
CLANGXX ?= clang++-19
LLVM ?= /usr/lib/llvm-19
# Any Node runs bin/generate: the one in PATH, so that this works before npm has installed another one.
NODE ?= node
# The oldest Node that polytop runs on; bin/polytop reads it from there too.
NODE_VERSION := $(shell sed -n 's/.*"node": ">=\([0-9]*\)".*/\1/p' package.json)

# The files of a room of native/ are compiled as one: most of the time goes into the headers that they share. Rooms of
# which the parsers take single files are compiled file by file.
ROOMS := $(patsubst native/%/,%,$(dir $(wildcard native/*/*.cpp)))
BY_FILE := drain files kernel mapped
AS_ONE := $(filter-out $(BY_FILE),$(sort $(ROOMS)))
ADDON_OBJECTS := $(AS_ONE:%=build/native/%.o) \
  $(patsubst native/%.cpp,build/native/%.o,$(wildcard $(BY_FILE:%=native/%/*.cpp)))
BUNDLE_ENTRIES := cli=src/start.ts live=src/sources/live.ts
BUNDLE_SOURCES := $(shell find src bpf/*.json -type f)

# Lists of files are sources too: one deleted or new links or bundles again.
# Kept while this file is read, so that `make -q` can tell whether anything is to do.
remember = $(shell mkdir -p build; echo '$2' | cmp -s - $1 || echo '$2' > $1)
$(call remember,build/objects,$(ADDON_OBJECTS))
$(call remember,build/sources,$(BUNDLE_SOURCES))

# The includes of a unit are a list of files too.
unit = $(shell mkdir -p build/units; printf '\043include "%s"\n' $(wildcard native/$1/*.cpp) >build/units/$1.new; \
  cmp -s build/units/$1.new build/units/$1.cpp && rm build/units/$1.new || mv build/units/$1.new build/units/$1.cpp)
$(foreach it,$(AS_ONE),$(call unit,$(it)))

BPF_OBJECTS := dist/polytop.bpf.o dist/wait.bpf.o
SMALL_PROGRAMS := dist/polytop-reader dist/polytop-launch

all: $(BPF_OBJECTS) dist/polytop.node $(SMALL_PROGRAMS) dist/polytop-parser dist/cli.js

# What is defined once for all sides: build/counters.h, build/dotnet_layouts.h and build/abi.ts. Make brings files that it
# includes up to date before all others, so that those which came out the same are as old as before.
include build/generated.mk
build/generated.mk: bin/generate $(wildcard bpf/generate/* bpf/*.json bpf/abi.h bpf/types.h bpf/*/abi.h)
	mkdir -p build
	$(NODE) bin/generate build
	touch $@

# ---- BPF ---------------------------------------------------------------------

# What is built in another folder is the same: BTF's line information holds no path of this one. (With nothing in place
# of "." clang 19 leaves the paths as they are.)
BPF_FLAGS := -g -O2 -Wall -Werror -target bpf -D__TARGET_ARCH_x86 -ffile-prefix-map=$(CURDIR)=. \
  -I build -isystem /usr/include/$(shell $(CXX) -print-multiarch)

BTF := .BTF .BTF.ext

# DWARF goes, BTF stays: the loader needs BTF only, and not as an object that is yet to be linked has it. Without lines:
# whoever reads what the verifier says loads the object in build/bpf/, which has them.
dist/polytop.bpf.o: bpf/sample.bpf.c
dist/wait.bpf.o: bpf/wait.bpf.c
$(BPF_OBJECTS): build/counters.h bin/strip-lines.mjs Makefile
	mkdir -p dist build/bpf
	$(CLANG) $(BPF_FLAGS) -MMD -MP -MT $@ -MF build/bpf/$(@F:.bpf.o=.d) -c $(filter %.c,$^) -o build/bpf/$(@F)
	$(LLVM_STRIP) -g -R .rel.BTF -R .rel.BTF.ext build/bpf/$(@F) -o $@.new
	$(LLVM_OBJCOPY) $(foreach it,$(BTF),--dump-section $(it)=build/bpf/$(@F)$(it)) $@.new /dev/null
	$(NODE) bin/strip-lines.mjs $(BTF:%=build/bpf/$(@F)%)
	$(LLVM_OBJCOPY) $(foreach it,$(BTF),--update-section $(it)=build/bpf/$(@F)$(it)) $@.new
	mv $@.new $@

# ---- the addon ---------------------------------------------------------------
# This file and not node-gyp: that downloads Node's headers on every new machine,
# while these come with the npm packages and are all that Node-API needs.

CXX_FLAGS := -std=c++20 -Wall -Wextra -Werror -MMD -MP -iquote native -iquote . -I build -isystem $(LLVM)/include
ADDON_FLAGS = $(CXX_FLAGS) $(OPTIMIZED) -fPIC -fvisibility=hidden \
  -ffunction-sections -fdata-sections -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
  -DNAPI_VERSION=9 -DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS -DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS -DNODE_ADDON_API_DISABLE_DEPRECATED \
  -isystem node_modules/node-addon-api -isystem node_modules/node-api-headers/include
# Symbols of static libraries must not meet those of another addon or of Node itself. What the parser alone uses is left
# out, and with it the libraries that only the parser needs.
ADDON_LINK := -shared -pthread -Wl,--build-id -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,relro,-z,now -lbpf

# What runs for no sample, no name and no row of a table, or waits for the kernel, is small instead of fast.
SELDOM := command early events js kernel lines mapped perl probes python
OPTIMIZED := -O2
$(filter $(SELDOM:%=build/native/%.o) $(SELDOM:%=build/native/%/%),$(ADDON_OBJECTS)): OPTIMIZED := -Os

# Objects in a folder of build/, for each set of flags one: of single files, of rooms, and of tests.
define OBJECTS
$(foreach sources,native build/units .,
build/$1/%.o: $(sources)/%.cpp build/compiler
	mkdir -p $$(@D)
	$2 -c $$< -o $$@
)
endef
$(eval $(call OBJECTS,native,$$(CXX) $$(ADDON_FLAGS)))

dist/polytop.node: $(ADDON_OBJECTS) build/objects
	mkdir -p dist
	$(CXX) $(ADDON_OBJECTS) $(ADDON_LINK) -o $@.new
	mv $@.new $@

# ---- what reads processes' memory, and what gives up root's rights -------------
# Static, with a C library of which a program gets what it uses: some 60 KB each, where glibc's take 700. What they call
# has the same form in both libraries (x86-64), so that they are compiled like everything else; but for checks of buffers.

dist/polytop-reader: native/memory/program/reader.cpp
dist/polytop-launch: native/launch/program/launch.cpp
$(SMALL_PROGRAMS): Makefile
	mkdir -p dist build/small
	$(CXX) $(CXX_FLAGS) -MT $@ -O2 -U_FORTIFY_SOURCE -fstack-protector-strong -fno-exceptions -fno-rtti \
	  -c $(filter %.cpp,$^) -o build/small/$(@F).o
	$(MUSL_CC) -static -s build/small/$(@F).o -o $@.new
	mv $@.new $@

# ---- the parser of other people's files --------------------------------------
# Static: it has no way of its own to find libraries. The C library asks for an open file by its path, an empty one, and paths are nothing
# that this program may name: native/parser/program/paths.cpp has an fstat() of its own, and others that find no file.

PATHS := native/parser/program/paths.options
LIBRARIES := -Wl,--as-needed $(LLVM)/lib/libLLVMDemangle.a -ldw -lelf -lz -llzma -lzstd

dist/polytop-parser: build/native/parser/program/parser.o build/tools/parsers.a $(PATHS)
	mkdir -p dist
	$(CXX) -static -s $(filter-out $(PATHS),$^) -Wl,--gc-sections @$(PATHS) $(LIBRARIES) -o $@.new
	mv $@.new $@

# ---- the bundle --------------------------------------------------------------
# Packages written for require() find it in the banner. Ink loads react-devtools-core
# only with DEV=true: it stays outside, and lazily loaded parts stay in files of their own.
# Nothing is fetched: Yoga would have Node.js load all of HTTP to read the WebAssembly that it holds itself, 0.1 s.

BANNER := import{createRequire as _polytopRequire}from"node:module";const require=_polytopRequire(import.meta.url);

dist/cli.js: $(BUNDLE_SOURCES) build/abi.ts build/sources package-lock.json package.json Makefile
	mkdir -p dist
	rm -rf build/bundle
	node_modules/.bin/esbuild $(BUNDLE_ENTRIES) --outdir=build/bundle --entry-names=[name] \
	  --chunk-names=chunk-[hash] --bundle --splitting --minify --platform=node --format=esm \
	  --target=node$(NODE_VERSION) --jsx=automatic --define:process.env.NODE_ENV='"production"' \
	  --define:fetch=undefined --external:react-devtools-core --external:*.node '--banner:js=$(BANNER)' \
	  --legal-comments=none --log-level=warning
	cp --remove-destination build/bundle/*.js dist/
	cd dist && for file in *.js; do test -e ../build/bundle/$$file || rm $$file; done

# ---- tools of the tests --------------------------------------------------------
# Each program of test/native is linked with what it needs of the parsers, which know neither BPF nor Node:
# in build/tools/ as they are in the addon, in build/tools/checked/ with memory and undefined behaviour checked.

TOOLS := answer_cases compare_code dump_unwind hostile_cases parser_cases reader_cases slow_parser stack_depth symbols_tool walk_twice
CHECKED_TOOLS := symbols_tool $(filter-out $(TOOLS),$(basename $(notdir $(wildcard test/native/*.cpp))))
CHECKED_FLAGS := $(CXX_FLAGS) -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
$(eval $(call OBJECTS,checked,$$(CXX) $$(CHECKED_FLAGS)))

# What the archive of the parsers holds, rooms and single files. Rooms hold what asks the kernel too, and needs libbpf: no
# program of the tests calls it, and the linker leaves it out.
PARSER_ROOMS := $(filter-out command early events js kernel_names,$(AS_ONE))
PARSER_FILES := $(patsubst native/%.cpp,%,$(filter-out %/parser.cpp,$(wildcard native/parser/program/*.cpp))) \
  files/open_file files/room_plan mapped/identity mapped/named_files mapped/proc_lines mapped/vdso \
  kernel/map_filter drain/stacks drain/unsampled
UNUSED := -Wl,--gc-sections
# Where memory is checked the linker can leave out whole objects only: there all are of single files.
PARSERS := $(patsubst native/%.cpp,%,$(wildcard $(PARSER_ROOMS:%=native/%/*.cpp))) $(PARSER_FILES)
$(call remember,build/parsers,$(PARSERS))

tools: $(TOOLS:%=build/tools/%) $(CHECKED_TOOLS:%=build/tools/checked/%) build/tools/checked/replay

build/tools/parsers.a: $(patsubst %,build/native/%.o,$(PARSER_ROOMS) $(PARSER_FILES)) build/parsers
build/tools/checked/parsers.a: $(PARSERS:%=build/checked/%.o) build/parsers
%/parsers.a:
	mkdir -p $(@D)
	rm -f $@
	ar rcs $@ $(filter %.o,$^)

build/tools/%: build/native/test/native/%.o build/tools/parsers.a
	$(CXX) $^ $(UNUSED) $(LIBRARIES) $(TOOL_LIBRARIES) -o $@

# It loads BPF objects.
build/tools/stack_depth: TOOL_LIBRARIES := -lbpf

build/tools/checked/%: build/checked/test/native/%.o build/tools/checked/parsers.a
	$(CXX) $(CHECKED_FLAGS) $^ $(LIBRARIES) -o $@

# ---- a release -----------------------------------------------------------------

release:
	npm run release

# ---- fuzzing -------------------------------------------------------------------
# The harnesses of test/fuzz: with libFuzzer, with counters of the lines that they reach, and as a program of the
# tests that runs what was kept. test/tools/fuzz calls `make fuzz`, which needs libclang-rt-19-dev.

HARNESSES := $(filter-out %/fuzz.cpp %/replay.cpp,$(wildcard test/fuzz/harness/*.cpp))
# Headers of g++ use what they call deprecated.
CLANG_FLAGS := $(CXX_FLAGS) -Wno-deprecated-declarations -O1 -g1
FUZZ_FLAGS := $(CLANG_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all
COVERAGE_FLAGS := $(CLANG_FLAGS) -fprofile-instr-generate -fcoverage-mapping

fuzz: build/fuzz/fuzz build/covered/replay

build/tools/checked/replay: $(HARNESSES:test/%.cpp=build/checked/test/%.o) build/checked/test/fuzz/harness/replay.o \
  build/tools/checked/parsers.a
	$(CXX) $(CHECKED_FLAGS) $^ $(LIBRARIES) -o $@

$(eval $(call OBJECTS,fuzz,$$(CLANGXX) $$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link))
$(eval $(call OBJECTS,covered,$$(CLANGXX) $$(COVERAGE_FLAGS)))

build/fuzz/parsers.a: $(PARSERS:%=build/fuzz/%.o) build/parsers
build/covered/parsers.a: $(PARSERS:%=build/covered/%.o) build/parsers

build/fuzz/fuzz: $(patsubst %.cpp,build/fuzz/%.o,$(HARNESSES) test/fuzz/harness/fuzz.cpp) build/fuzz/parsers.a
	$(CLANGXX) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ $(LIBRARIES) -o $@

build/covered/replay: $(patsubst %.cpp,build/covered/%.o,$(HARNESSES) test/fuzz/harness/replay.cpp) \
  build/covered/parsers.a
	$(CLANGXX) $(COVERAGE_FLAGS) $^ $(LIBRARIES) -o $@

# ---- what objects are built of, beside their sources ----------------------------
# How they are compiled is a source of all objects; the rest of this file is none.
$(call remember,build/compiler,$(CXX) $(ADDON_FLAGS) $(SELDOM) $(CHECKED_FLAGS) $(FUZZ_FLAGS) $(COVERAGE_FLAGS))

.PHONY: all tools fuzz release
.SECONDARY:

# The headers of each, as the compilers wrote them down.
-include $(shell find build/bpf build/native build/small build/checked build/fuzz build/covered -name '*.d' 2>/dev/null)
