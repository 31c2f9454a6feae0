# SPDX-License-Identifier: Apache-2.0
# The native part of a release: the addon, and the parser as npm has it, linked with static libraries and with the C
# library's symbols as of an older version. Called by release/main.ts, in the top folder, after the ordinary build, whose
# objects it links anew.

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:

LLVM ?= /usr/lib/llvm-19
NODE := node_modules/.bin/node
WORK := build/release
ELFUTILS := $(WORK)/elfutils
LIBBPF := $(WORK)/libbpf
SYSTEM := /usr/lib/$(shell g++ -print-multiarch)
# What is built elsewhere is the same: no path of this folder stands in it. Small instead of fast: they load programs into
# the kernel, and wait for it.
STATIC_FLAGS := -Os -fPIC -g0 -ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)/$(WORK)/=

all: $(WORK)/polytop.node $(WORK)/polytop-parser

# ---- libraries ---------------------------------------------------------------
# Debian's own static ones cannot be linked into a shared object (their thread-local variables are those of a program),
# so they are built of Debian's sources, at the versions of the headers that the ordinary build takes.

$(WORK)/sources/.fetched: release/fetch-sources
	release/fetch-sources $(@D) libelf-dev libbpf-dev
	touch $@

$(WORK)/%/.unpacked: $(WORK)/sources/.fetched
	rm -rf $(@D)
	dpkg-source --no-check --no-copy -x $(WORK)/sources/$*_*.dsc $(@D) >$(WORK)/$*.log
	touch $@

# Of elfutils libbpf uses libelf alone. The parser, a program, is linked with Debian's own.
$(ELFUTILS)/.built: $(ELFUTILS)/.unpacked
	cd $(@D) && CFLAGS="$(STATIC_FLAGS)" ./configure --disable-debuginfod --disable-libdebuginfod --disable-nls \
	  --without-bzlib --without-lzma --without-zstd --disable-symbol-versioning >>../elfutils.log 2>&1
	for part in lib/libeu.a libelf/libelf_pic.a; do $(MAKE) -C $(@D)/$${part%/*} $${part#*/} >>$(WORK)/elfutils.log 2>&1 || exit; done
	touch $@

$(LIBBPF)/.built: $(LIBBPF)/.unpacked
	$(MAKE) -C $(@D)/src NO_PKG_CONFIG=1 OBJDIR=$(CURDIR)/$(@D)/objects CFLAGS="$(STATIC_FLAGS)" \
	  $(CURDIR)/$(@D)/objects/libbpf.a >>$(WORK)/libbpf.log 2>&1
	touch $@

$(WORK)/stubs/libc.so: $(addprefix release/native/,library-stubs.ts dynamic-symbols.ts baseline.ts)
	$(NODE) $< $(@D)

# ---- the addon ---------------------------------------------------------------

$(WORK)/older-libc.o: release/native/older-libc.c
	gcc -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -c $< -o $@

# The libraries of C++ stay shared, since Node has them anyway, but for the few things that the oldest lacks: those come
# from the static one. So does libgcc_s: the unwinder of GCC 12 asks for _dl_find_object (glibc 2.35).
SHARED := $(WORK)/older-libc.o $(WORK)/stubs/libstdc++.so -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic \
  $(patsubst %,$(WORK)/stubs/%.so,libc libm ld-linux-x86-64) $(SYSTEM)/libc_nonshared.a -lgcc_s -lgcc
LINK := -nodefaultlibs -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -Wl,--build-id=sha1
CHECKED := $(WORK)/older-libc.o $(WORK)/stubs/libc.so $(addprefix release/native/,check-baseline.ts baseline.ts) release/native.mk

$(WORK)/polytop.node: $(shell cat build/objects) $(ELFUTILS)/.built $(LIBBPF)/.built release/native/addon.map $(CHECKED)
	g++ -shared $(LINK) $(shell cat build/objects) -Wl,--exclude-libs,ALL -Wl,--version-script=release/native/addon.map \
	  $(LIBBPF)/objects/libbpf.a $(ELFUTILS)/libelf/libelf_pic.a $(ELFUTILS)/lib/libeu.a $(SYSTEM)/libz.a $(SHARED) -o $@.new
	strip $@.new
	$(NODE) release/native/check-baseline.ts $@.new
	mv $@.new $@

# ---- the parser of the npm package ---------------------------------------------
# npm installs it where there is a C library that will do: without one of its own it is half as large. It loads libraries
# before it gives up its rights; before glibc 2.34 threads are one of their own, which Node loads for the addon. What else
# goes wherever Linux does has the static one.

PARSER := build/native/parser/program/parser.o build/tools/parsers.a
PATHS := native/parser/program/paths.options
$(WORK)/polytop-parser: $(PARSER) $(PATHS) $(CHECKED)
	g++ -pie $(LINK) -Wl,--allow-shlib-undefined $(PARSER) @$(PATHS) $(LLVM)/lib/libLLVMDemangle.a \
	  $(patsubst %,$(SYSTEM)/lib%.a,dw elf z lzma zstd) $(SHARED) \
	  -Wl,--no-as-needed -l:libpthread.so.0 -o $@.new
	strip $@.new
	$(NODE) release/native/check-baseline.ts $@.new
	mv $@.new $@

.PHONY: all
.SECONDARY:
