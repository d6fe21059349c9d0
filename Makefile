# ludwig's build.  `make help` lists the targets.
#
# One set of rules builds every variant: `make variant=asan` takes other flags
# and other folders below build/.  The default variant's programs lie in
# build/bin, the others' in build/<variant>/bin.  `asan` is clang's build, with
# its warnings, both sanitizers and what fuzzing takes.

VERSION          := $(shell cat VERSION)
PREFIX           := /usr/local
FUZZ_SECONDS     := 20
SANITIZED        := submit#     functional tests that check-asan and check-tsan run
variant          := default#    default | hooks | asan | tsan
T                :=#            only tests of these names, or else with one of these words in theirs
WERROR           ?=#            1: warnings are errors
V                ?=#            1: show whole commands

MAKEFLAGS        += --no-print-directory
comma            := ,

# --- what there is ----------------------------------------------------------

O                := build/$(variant)
bin              := $(if $(filter default,$(variant)),build/bin,$O/bin)

rooms            := common client server worker
program_client   := $(bin)/ludwig
program_server   := $(bin)/ludwigd
program_worker   := $(bin)/ludwig-worker
programs         := $(foreach r,$(rooms),$(if $(wildcard $r/main.c),$(program_$r)))
archives         := $(patsubst %/,$O/%.a,$(sort $(dir $(foreach r,$(rooms),$(wildcard $r/*/*.c)))))

# The C files of a program: its main.c and those of its rooms.
sources_of        = $(wildcard $1/*.c $1/*/*.c)
unit_sources     := $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c)
units            := $(patsubst tests/unit/%.c,$O/unit/%,$(unit_sources))
fuzzers          := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
benches          := $(patsubst tests/bench/%.c,build/bench/%,$(wildcard tests/bench/*.c))
functional       := $(filter-out %/lib.sh %/lab.sh %/sshd.sh %/far.sh %/screen.sh %/slurm.sh %/pilot.sh %/search_kills.sh %/guest.sh,$(wildcard tests/functional/*.sh))
lab_tools        := build/lab/link build/lab/clock.so build/lab/nvml.so
sources          := $(foreach r,$(rooms),$(call sources_of,$r)) $(unit_sources) $(wildcard tests/fuzz/*.c tests/bench/*.c tests/lab/*.c)
headers          := $(wildcard $(addsuffix /*/*.h,$(rooms)) tests/unit/*.h tests/fuzz/*.h tests/bench/*.h)

# --- libraries ----------------------------------------------------------------

msgpack          := $(shell pkg-config --exists msgpack 2>/dev/null && echo msgpack || echo msgpack-c)
packages_common  := yaml-0.1 libcrypto json-c libzstd $(msgpack)
# macOS has ncurses without a file for pkg-config.
ncurses          := $(shell pkg-config --exists ncursesw 2>/dev/null && echo ncursesw)
packages_client  := $(packages_common) libssh freetype2 libpng $(ncurses)
packages_server  := $(packages_common) libuv sqlite3
packages_worker  := $(packages_common) libuv libssh
packages         := $(sort $(packages_client) $(packages_server) $(packages_worker))
# Only their headers: loaded when they are needed (client/ui/http.c).
packages_loaded  := libmicrohttpd
libs_of           = $(shell pkg-config --libs $1 2>/dev/null)

# --- flags ----------------------------------------------------------------------

CFLAGS           ?= -O2 -g
warnings         := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
                    -Wmissing-prototypes -Wundef
# As system headers, so that their warnings are not ours.
includes         := -I. $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(packages) $(packages_loaded) 2>/dev/null))
# Without fused operations, so that samples are the same on every machine.
base_flags       := -std=c11 -ffp-contract=off -D_GNU_SOURCE -DLUDWIG_VERSION='"$(VERSION)"' $(includes)
uname            := $(shell uname)
ifeq ($(uname),Linux)
link_flags       := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
endif
hardening        := -fPIE -fstack-protector-strong
# A stack that cannot jump over its guard page, and branches checked by the processor, where the compiler
# knows them for this processor.
hardening        += $(foreach flag,-fstack-clash-protection -fcf-protection,$(shell \
                      $(CC) -Werror $(flag) -c -xc /dev/null -o /dev/null 2>/dev/null && echo $(flag)))

ifneq ($(filter default hooks,$(variant)),)
# A compiler or C library without level 3 warns about it and takes level 2.
fortify          := $(shell $(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E -dM \
                      -include features.h -xc /dev/null 2>/dev/null | \
                      grep -q 'FORTIFY_LEVEL 3' && echo 3 || echo 2)
hardening        += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(fortify)
else
CFLAGS           := -O1 -g -fno-omit-frame-pointer
endif

# hooks: functional tests can kill a process at points that have a name.
variant_hooks    := -DLUDWIG_TEST_HOOKS
variant_asan     := -DLUDWIG_TEST_HOOKS -fsanitize=address,undefined -fno-sanitize-recover=all \
                    -fsanitize-coverage=inline-8bit-counters,pc-table
variant_tsan     := -DLUDWIG_TEST_HOOKS -fsanitize=thread
ifeq ($(variant),asan)
CC               := $(filter ccache,$(CC)) clang
endif
# Tests, which are many, are linked in a third of the time.
link_tests       := $(shell command -v ld.lld >/dev/null && echo -fuse-ld=lld)

compile          := $(CC) $(base_flags) $(CPPFLAGS) $(warnings) $(hardening) $(CFLAGS) $(variant_$(variant))
# Libraries lie beside the programs, whoever needs them: RUNPATH would say nothing about a library's
# own, and a variable would be seen by the jobs.
bundled          :=
rpath            := $(if $(bundled),-Wl$(comma)-rpath$(comma)'$$ORIGIN/../lib' -Wl$(comma)--disable-new-dtags)
link             := $(CC) $(CFLAGS) $(variant_$(variant)) $(link_flags) $(rpath) $(LDFLAGS)
# Rooms' archives, in whatever order.
grouped           = $(if $(filter Linux,$(uname)),-Wl$(comma)--start-group $1 -Wl$(comma)--end-group,$1)
say               = $(if $V,,@printf '  %-5s %s\n' $1 $@; )

# --- building -------------------------------------------------------------------

.SECONDEXPANSION:
.PHONY: all units benches lab-tools
all: $(archives) $(programs) ## build the programs (the default)
units: $(units)
	@:
benches: $(benches)
lab-tools: $(lab_tools)
	@:

# Changes, and with it every object, when the compiler or a flag changes.
$O/flags: FORCE
	@pkg-config --exists --print-errors $(packages) $(packages_loaded) || \
	    { echo 'ludwig: a library is missing, so nothing was built; run: make deps' >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(compile)' | cmp -s - $@ || echo '$(compile)' >$@

$O/%.o: %.c $O/flags
	@mkdir -p $(@D)
	$(call say,CC)$(compile) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<

# Its assembler takes them in.
$O/client/page/page_files.o: $(wildcard client/page/*.js client/page/*.css client/page/*.html)
$O/client/plot/font.o: client/plot/font.ttf

# A file without a hook is the default's, which is built first.
ifeq ($(variant),hooks)
hooked           := $(shell grep -lE 'CRASH_POINT|LUDWIG_TEST_HOOKS' $(sources))
objects           = $(foreach c,$1,$(if $(filter $c,$(hooked)),$O,build/default)/$(c:.c=.o))
else
objects           = $(patsubst %.c,$O/%.o,$1)
endif

# An archive for each room: client/pack's is $O/client/pack.a.
$(archives): $O/%.a: $$(call objects,$$(wildcard $$*/*.c))
	@mkdir -p $(@D) && rm -f $@
	$(call say,AR)ar rcs $@ $^

define program
$(program_$1): $(call objects,$1/main.c) $(filter $O/$1/% $O/common/%,$(archives))
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(link) -o $$@ $$(call grouped,$$^) $$(call libs_of,$(packages_$1)) $$(libs_$1)
endef
libs_client := -ldl -lm $(if $(ncurses),,-lncurses) -lpthread
libs_server := -lm
libs_worker := -ldl -lm
$(foreach p,client server worker,$(eval $(call program,$p)))

# A test is linked with the room that it is about and those that this one may use (.ci/rooms):
# rooms_client/draw is "client/draw", and so on down.
$(foreach line,$(shell awk -F': *' '/^[a-z]/ { n = split($$2, used, " "); all = $$1; \
    for (i = 1; i <= n; i++) all = all "," of[used[i]]; of[$$1] = all; print $$1 "=" all }' .ci/rooms), \
    $(eval rooms_$(firstword $(subst =, ,$(line))) := $(sort $(subst $(comma), ,$(lastword $(subst =, ,$(line)))))))
# Tests of these rooms take more: tables that rooms above fill, the way of data there and back, or a whole ludwigd.
also_client/draw      := common/base
also_client/share     := $(rooms_client/pack)
also_client/term      := $(rooms_client/cli)
also_client/util      := $(rooms_client/session)
also_worker/base      := $(rooms_worker/runner)
also_worker/janitor     := $(rooms_worker/share)
also_worker/node      := $(rooms_worker/share)
also_worker/publisher := $(rooms_worker/stager)
also_worker/saved     := $(rooms_worker/publisher)
$(foreach r,base conn handle inbox pilot queue search share,$(eval also_server/$r := $(rooms_server/loop)))
test_folder   = $(patsubst %/,%,$(dir $1))
test_archives = $(sort $(foreach r,$(rooms_$(call test_folder,$1)) $(also_$(call test_folder,$1)),$(filter $O/$r.a,$(archives))))
$O/unit/%: $O/tests/unit/%.o $$(call test_archives,$$*)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) $(link_tests) -o $@ $(call grouped,$^) $(call libs_of,$(packages) cmocka) $(libs_client) -ldl

build/bench/%: $O/tests/bench/%.o $(archives)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) $(link_tests) -o $@ $(call grouped,$^) $(call libs_of,$(packages)) $(libs_client) -ldl

build/fuzz/%: build/asan/tests/fuzz/%.o $(archives)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) $(link_tests) -fsanitize=fuzzer -o $@ $(call grouped,$^) $(call libs_of,$(packages)) $(libs_client) -ldl

build/lab/%: tests/lab/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(base_flags) $(warnings) $(CFLAGS) -o $@ $<

build/lab/%.so: tests/lab/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(base_flags) $(warnings) $(CFLAGS) -shared -fPIC -o $@ $<

-include $(wildcard $O/*/*.d $O/*/*/*.d $O/tests/*/*.d $O/tests/unit/*/*/*.d)
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: FORCE
FORCE:

# --- installing -----------------------------------------------------------------

.PHONY: install uninstall clean
python    := $(wildcard client/python/*.py)
docs      := LICENSE README.md $(wildcard docs/*.md) docs/sweep.schema.json
# as far as git knows them: a demo leaves files of its own there
examples  := $(shell git ls-files examples 2>/dev/null || find examples -type f)
man_pages := $(wildcard docs/man/*.[158])
share     := $(DESTDIR)$(PREFIX)/share
# of each shell: its name, where it looks
completions := bash:bash-completion/completions/ludwig zsh:zsh/site-functions/_ludwig \
               fish:fish/vendor_completions.d/ludwig.fish
installed_man = $(foreach p,$(man_pages),$(share)/man/man$(patsubst .%,%,$(suffix $p))/$(notdir $p))

install: all            ## install below $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(share)/doc/ludwig $(share)/ludwig/python $(sort $(dir $(installed_man)))
	install -m 755 $(programs) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(docs) $(share)/doc/ludwig
	for f in $(examples); do install -D -m 644 $$f $(share)/doc/ludwig/$$f || exit 1; done
	install -m 644 $(python) $(share)/ludwig/python
	$(foreach p,$(man_pages),install -m 644 $p $(share)/man/man$(patsubst .%,%,$(suffix $p)) &&) true
	for c in $(completions); do \
	    install -d "$(share)/$$(dirname "$${c#*:}")" && \
	    $(program_client) completion "$${c%%:*}" >"$(share)/$${c#*:}" || exit 1; \
	done

uninstall:              ## take away what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(notdir $(programs))) $(installed_man)
	for c in $(completions); do rm -f "$(share)/$${c#*:}"; done
	rm -rf $(share)/doc/ludwig $(share)/ludwig/python

bundle_name := ludwig-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
.PHONY: bundle
bundle:                 ## one tar with all libraries, for where nothing can be installed
	@rm -rf build/bundle
	@$(MAKE) bundled=1 bin=build/bundle/bin DESTDIR=build/bundle PREFIX=/$(bundle_name) install >/dev/null
	@.ci/bundle build/bundle/$(bundle_name) build/$(bundle_name).tar.gz

clean:                  ## remove build/
	rm -rf build

.PHONY: deps deps-test demo
deps:                   ## install what building and running needs
	@.ci/deps build

deps-test:              ## install what the tests need as well
	@.ci/deps test

demo: deps              ## build, then run a small sweep on this machine
	@$(MAKE) all
	@sh examples/demo.sh build/bin build/demo

# --- testing: T='name ...' takes those tests alone, or those with one of these words in their names ---

hooks_bin := $(if $(filter default,$(variant)),build/hooks/bin,$(bin))
run_tests  = LUDWIG_BIN=$(abspath $(bin)) LUDWIG_HOOKS_BIN=$(abspath $(hooks_bin)) \
             tests/run $(if $T,-t '$T')
# As tests/run takes them.  Some scripts feed what they saw of Slurm to unit tests.
named      = $(or $(filter $(addprefix %/,$T),$(basename $1)),$(foreach t,$(basename $1),$(if \
             $(strip $(foreach w,$T,$(findstring $w,$(patsubst $O/unit/%,%,$t)))),$t)))
wanted     = $(if $T,$(filter $(addsuffix %,$(call named,$1)),$1),$1)
units_used = $(if $(filter slurm_commands slurm_records,$(notdir $(call named,$(functional)))), \
             $(filter $O/unit/server/slurm/%,$(units)))

.PHONY: test unit functional test-programs test-all test-changed
test-programs:
	@$(MAKE) all lab-tools $(call wanted,$(units)) $(units_used)
	@$(MAKE) variant=hooks all

test: deps-test test-programs ## build and run the tests that each landing has to pass
	@$(run_tests) $(call wanted,$(units)) $(call wanted,$(functional))

unit: deps-test         ## the unit tests alone
	@$(MAKE) $(call wanted,$(units))
	@$(run_tests) $(call wanted,$(units))

functional: deps-test test-programs ## the functional tests alone
	@$(run_tests) $(call wanted,$(functional))

test-changed: deps-test ## what tests the rooms that differ from main (tests/changed)
	@tests/changed

# LUDWIG_TEST_ALL: also what only this target runs of a test, as tests in a guest on a slow machine.
test-all: deps-test     ## all of test, and what takes too long for each landing
	@LUDWIG_TEST_ALL=1 $(MAKE) test
	@.ci/as-user all
	@$(MAKE) check-asan SANITIZED='$(notdir $(basename $(functional)))'
	@$(MAKE) check-tsan
	@$(MAKE) fuzz FUZZ_SECONDS=60
	@for round in 1 2 3; do tests/beside 8 $(MAKE) test || exit 1; done

.PHONY: check-asan check-tsan check-valgrind sanitized
check-asan check-tsan: check-%: deps-test ## unit tests, some functional ones: ASan + UBSan, or TSan
	@$(MAKE) variant=$* sanitized

# Daemons report to files, where nobody can overlook them.
reports   := $(abspath $O/reports)
sanitized: all units
	@rm -rf $(reports) && mkdir -p $(reports)
	@ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=5:log_path=$(reports)/asan TSAN_OPTIONS=log_path=$(reports)/tsan:suppressions=$(abspath .ci/tsan.supp) \
	 UBSAN_OPTIONS=print_stacktrace=1:log_path=$(reports)/ubsan \
	 $(run_tests) --logs $O/logs --reports $(reports) $(units) $(SANITIZED:%=tests/functional/%.sh); \
	 status=$$?; ! cat $(reports)/* 2>/dev/null && exit $$status

check-valgrind: deps-test ## the unit tests under valgrind
	@$(MAKE) units
	@$(run_tests) --under 'valgrind -q --leak-check=full --error-exitcode=99' $(units)

.PHONY: fuzz fuzz-all fuzz-build $(fuzzers:%=fuzz-%)
fuzz:                   ## fuzz each target for FUZZ_SECONDS
	@$(MAKE) variant=asan -j2 --output-sync fuzz-all

fuzz-build: $(fuzzers:%=build/fuzz/%)
	@:
fuzz-all: $(fuzzers:%=fuzz-%)
$(fuzzers:%=fuzz-%): fuzz-%: build/fuzz/%
	@mkdir -p build/fuzz-corpus/$* build/fuzz-findings
	@build/fuzz/$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -verbosity=0 \
	    -artifact_prefix=build/fuzz-findings/$*- build/fuzz-corpus/$* $(wildcard tests/fuzz/corpus/$*) \
	    >build/fuzz-corpus/$*.log 2>&1 || { cat build/fuzz-corpus/$*.log; exit 1; }
	@echo 'fuzz $*: $(FUZZ_SECONDS) s, nothing found'

.PHONY: bench bench-environment bench-jobs bench-mount bench-nodes bench-packs bench-page bench-results bench-search bench-share bench-slurm bench-stage bench-stall bench-start bench-upload bench-ways bench-workers
bench: bench-jobs bench-packs bench-page bench-results bench-share bench-slurm bench-stage bench-start bench-environment bench-mount bench-nodes bench-stall bench-ways bench-workers bench-upload ## run all benchmarks; bench-NAME runs one, as bench-jobs
bench-environment: benches lab-tools
	@echo '# environment' && bash tests/bench/environment.sh build/bench/stage build/bench/packs

bench-jobs: benches all
	@echo '# jobs' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/jobs.sh build/bench/floor

bench-mount: benches lab-tools
	@echo '# mount' && bash tests/bench/mount.sh build/bench/stage build/bench/packs

bench-nodes: all lab-tools
	@echo '# nodes' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/nodes.sh

bench-packs: benches
	@echo '# packs' && bash tests/bench/packs.sh

bench-page: benches     # takes Chromium
	@echo '# page' && build/bench/page build/page.html && python3 tests/bench/page.py build/page.html brush
	@build/bench/page build/page.html 10000 4 10 && python3 tests/bench/page.py build/page.html jobs
	@build/bench/page build/page.html 100000 4 1 && python3 tests/bench/page.py build/page.html jobs && rm build/page.html

bench-results: benches
	@echo '# results' && bash tests/bench/results.sh

# FOLDER has tables of trainings (docs/search.md); not part of bench.
bench-search: benches
	@echo '# search' && bash tests/bench/search.sh '$(FOLDER)' $(SEEDS)

bench-share: all
	@echo '# share' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/share.sh

bench-slurm: all
	@echo '# slurm' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/slurm.sh

bench-stage: benches
	@echo '# stage' && bash tests/bench/stage.sh

bench-start: all
	@echo '# start' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/start.sh

bench-stall: benches all
	@echo '# stall' && rm -rf build/stall && build/bench/stall $(bin)/ludwigd build/stall 10 && rm -rf build/stall

bench-upload: benches all lab-tools
	@echo '# upload' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/upload.sh build/bench/streams

bench-ways: benches all lab-tools
	@echo '# ways' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/ways.sh build/bench/roundtrip

bench-workers: all lab-tools
	@echo '# workers' && LUDWIG_BIN=$(abspath $(bin)) bash tests/bench/workers.sh 200

bench-%: build/bench/% all
	@echo '# $*' && LUDWIG_BIN=$(abspath $(bin)) build/bench/$*

# --- looking at the source ------------------------------------------------------

# varFuncNullUB: a list of arguments may end in NULL, which POSIX makes a pointer.
cppcheck_flags := -q -j2 --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
                  --inline-suppr --suppress=missingIncludeSystem --suppress=varFuncNullUB \
                  -D_GNU_SOURCE -I.
# Without carets it does not count, on standard error, the warnings that it was told to hide.
# With the warnings, lint says what a build with clang would.
tidy_flags     := $(base_flags) $(warnings) -fno-caret-diagnostics
# The analyzer's own limit is 225000, which takes four times as long: make lint TIDY_NODES=225000
TIDY_NODES     ?= 40000
tidy_analyzer  := $(patsubst %,--extra-arg=%,-Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES))
# Tests run under the sanitizers instead.
tidy_tests     := --checks=-clang-analyzer-*

.PHONY: house lint format help
house: all              ## the house in figures: files, lines and functions of each room, circles, places to touch
	@.ci/check-rooms --objects $O --print

lint: all               ## clang-format, clang-tidy, cppcheck, mandoc, and which room may use which
	@clang-format --dry-run -Werror $(sources) $(headers)
	@.ci/check-rooms --objects $O
	@mandoc -T lint -W warning $(man_pages)
	@cppcheck $(cppcheck_flags) $(sources)
	@.ci/tidy $(filter-out tests/%,$(sources)) -- $(tidy_analyzer) -- $(tidy_flags)
	@.ci/tidy $(filter tests/%,$(sources)) -- '$(tidy_tests)' -- $(tidy_flags)

format:                 ## clang-format every file in place
	clang-format -i $(sources) $(headers)

help:                   ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z -]*:.*## / { printf "%-22s %s\n", $$1, $$2 }' Makefile
