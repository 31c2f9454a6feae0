# SPDX-License-Identifier: Apache-2.0
# The native part of a release: the addon, linked with static libraries and with the C library's symbols as of an older
# version. Called by release/main.ts, in the top folder, after the ordinary build, whose objects it links anew.

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:

LLVM ?= /usr/lib/llvm-19
NODE := node_modules/.bin/node
WORK := build/release
ELFUTILS := $(WORK)/elfutils
LIBBPF := $(WORK)/libbpf
SYSTEM := /usr/lib/$(shell g++ -print-multiarch)
# What is built elsewhere is the same: no path of this folder stands in it.
STATIC_FLAGS := -O2 -fPIC -g0 -ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)/$(WORK)/=

all: $(WORK)/polytop.node

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

# Without its readers of xz, bzip2 and zstd: polytop unpacks .gnu_debugdata itself, and zlib's sections stay.
ELFUTILS_PARTS := lib/libeu.a libelf/libelf_pic.a libebl/libebl_pic.a libdwelf/libdwelf_pic.a libdw/libdw_pic.a
$(ELFUTILS)/.built: $(ELFUTILS)/.unpacked
	cd $(@D) && CFLAGS="$(STATIC_FLAGS)" ./configure --disable-debuginfod --disable-libdebuginfod --disable-nls \
	  --without-bzlib --without-lzma --without-zstd --disable-symbol-versioning >>../elfutils.log 2>&1
	$(MAKE) -C $(@D)/libdw known-dwarf.h >>$(WORK)/elfutils.log 2>&1
	for part in $(ELFUTILS_PARTS); do $(MAKE) -C $(@D)/$${part%/*} $${part#*/} >>$(WORK)/elfutils.log 2>&1 || exit; done
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
LIBRARIES := $(LLVM)/lib/libLLVMDemangle.a $(LIBBPF)/objects/libbpf.a \
  $(patsubst %,$(ELFUTILS)/%,libdw/libdw_pic.a libdwelf/libdwelf_pic.a libebl/libebl_pic.a libelf/libelf_pic.a lib/libeu.a) \
  $(SYSTEM)/libz.a $(SYSTEM)/liblzma.a $(WORK)/stubs/libstdc++.so -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic \
  $(patsubst %,$(WORK)/stubs/%.so,libc libm ld-linux-x86-64) $(SYSTEM)/libc_nonshared.a -lgcc_s -lgcc

$(WORK)/polytop.node: $(shell cat build/objects) $(WORK)/older-libc.o $(WORK)/stubs/libc.so $(ELFUTILS)/.built \
    $(LIBBPF)/.built release/native/addon.map release/native/check-baseline.ts release/native/baseline.ts release/native.mk
	g++ -shared -nodefaultlibs $(shell cat build/objects) $(WORK)/older-libc.o \
	  -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -Wl,--build-id=sha1 \
	  -Wl,--version-script=release/native/addon.map $(LIBRARIES) -o $@.new
	strip $@.new
	$(NODE) release/native/check-baseline.ts $@.new
	mv $@.new $@

.PHONY: all
.SECONDARY:
