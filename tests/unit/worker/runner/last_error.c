/* SPDX-License-Identifier: MIT */
/* last_error.c - tests of the line that says what went wrong, with the ends of logs of real programs */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "worker/runner/last_error.h"

#define HEADER    "Traceback (most recent call last):\n"
#define FILE_LINE "  File \"train.py\", line 7, in <module>\n    f()\n"
#define BAR       "  0%|          | 0/3125 [00:00<?, ?it/s]"

struct log_end {
    const char *log, *line;
};

static void check(const struct log_end *cases, size_t n, bool is_sure)
{
    for (size_t i = 0; i < n; i++) {
        struct buf tail = { 0 };
        bool sure;
        char *line;

        buf_add_str(&tail, cases[i].log);
        line = last_error_find(&tail, &sure);
        if (line == NULL || strcmp(line, cases[i].line) != 0 || sure != is_sure)
            fail_msg("case %zu: %s", i, line != NULL ? line : "no line");
        free(line);
        buf_free(&tail);
    }
}

static void an_exception_is_found_behind_what_stands_around_it(void **state)
{
    static const struct log_end cases[] = {
        { HEADER FILE_LINE "ValueError: lion needs beta3\n", "ValueError: lion needs beta3" },
        /* a progress bar before the header, one within, one behind */
        { "\r" BAR HEADER FILE_LINE "ValueError: lion needs beta3\n",
          "ValueError: lion needs beta3" },
        { "x\n\rTraining:  12%|#         | 1/8 [00:00<00:05,  1.3it/s]" HEADER FILE_LINE
          "\rTraining:  25%|##        | 2/8 [00:01<00:04,  1.3it/s]\nKeyError: 'a'\n\r" BAR "\n",
          "KeyError: 'a'" },
        /* ranks, with and without a bar, and what torchrun adds */
        { "[rank0]: " HEADER "[rank0]:   File \"t.py\", line 1\n[rank0]:     f()\n"
          "[rank0]: ValueError: bad\n",
          "ValueError: bad" },
        { "[rank1]: " BAR "[rank1]: " HEADER "[rank1]:   File \"t.py\", line 1\n"
          "[rank1]: ValueError: bad\n",
          "ValueError: bad" },
        { "[rank0]: " HEADER "[rank0]:   File \"t.py\", line 1\n[rank0]: ValueError: bad\n"
          "E1129 06:30:00 77 torch/distributed/elastic/multiprocessing/api.py:833] failed\n" HEADER
          "  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
          "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
          "====================\ntrain.py FAILED\n====================\n",
          "ValueError: bad" },
        { HEADER FILE_LINE
          "ValueError: bad\n" HEADER FILE_LINE
          "subprocess.CalledProcessError: Command '['python3', 't.py']' returned non-zero exit "
          "status 1.\n",
          "ValueError: bad" },
        { HEADER FILE_LINE "subprocess.CalledProcessError: Command 'make' returned 2\n",
          "subprocess.CalledProcessError: Command 'make' returned 2" },
        /* a logger's stamp, another one on each line */
        { "06:30:01 ERROR " HEADER "06:30:01 ERROR   File \"t.py\", line 1\n"
          "06:30:02 ERROR     f()\n06:30:02 ERROR RuntimeError: bad\n",
          "RuntimeError: bad" },
        { "ERROR:root:it failed\n" HEADER FILE_LINE "ZeroDivisionError: division by zero\n",
          "ZeroDivisionError: division by zero" },
        /* loguru */
        { HEADER
          "\n  File \"t.py\", line 9, in <module>\n    f()\n    \xe2\x94\x94 <function f>\n\n"
          "> File \"t.py\", line 3, in f\n    1/0\n\nZeroDivisionError: division by zero\n",
          "ZeroDivisionError: division by zero" },
        /* chained: the last is what ended the program */
        { HEADER FILE_LINE "KeyError: 'lr'\n\nDuring handling of the above exception, another "
                           "exception occurred:\n\n" HEADER FILE_LINE
                           "conf.errors.ConfError: no lr\n",
          "conf.errors.ConfError: no lr" },
        { "multiprocessing.pool.RemoteTraceback: \n\"\"\"\n" HEADER FILE_LINE
          "ValueError: in a worker\n\"\"\"\n\nThe above exception was the direct cause of the "
          "following exception:\n\n" HEADER FILE_LINE "ValueError: in a worker\n",
          "ValueError: in a worker" },
        /* grouped */
        { "  + Exception Group Traceback (most recent call last):\n"
          "  |   File \"g.py\", line 1, in <module>\n  |     raise ExceptionGroup(\n"
          "  | ExceptionGroup: two (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
          "    | " HEADER
          "    |   File \"g.py\", line 3, in <module>\n    |     raise ValueError(1)\n"
          "    | ValueError: 1\n    +------------------------------------\n",
          "ValueError: 1" },
        /* names that are no plain words, lines of Windows, no message */
        { HEADER FILE_LINE "f.<locals>.Odd: 1\n", "f.<locals>.Odd: 1" },
        { HEADER FILE_LINE "KeyboardInterrupt\n", "KeyboardInterrupt" },
        { "Traceback (most recent call last):\r\n  File \"t.py\", line 1\r\nEOFError\r\n",
          "EOFError" },
    };

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], true);
}

static void other_programs_last_words_are_found(void **state)
{
    static const struct log_end cases[] = {
        { "ERROR: LoadError: boom\nStacktrace:\n [1] error(s::String)\n   @ Base ./error.jl:35\n"
          " [2] top-level scope\n   @ /tmp/x.jl:1\nin expression starting at /tmp/x.jl:1\n",
          "ERROR: LoadError: boom" },
        { "Error in f(x) : object 'y' not found\nCalls: main -> f\nExecution halted\n",
          "Error in f(x) : object 'y' not found" },
        { "terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom\n",
          "  what():  boom" },
        { "Exception in thread \"main\" java.lang.IllegalStateException: no\n"
          "\tat Main.main(Main.java:3)\n",
          "Exception in thread \"main\" java.lang.IllegalStateException: no" },
        { "a: a.c:3: main: Assertion `x > 0' failed.\n",
          "a: a.c:3: main: Assertion `x > 0' failed." },
        { "job.sh: line 3: trian: command not found\n",
          "job.sh: line 3: trian: command not found" },
        { "usage: t.py [-h] [--lr LR]\nt.py: error: unrecognized arguments: --x\n",
          "t.py: error: unrecognized arguments: --x" },
        { "  File \"t.py\", line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n",
          "SyntaxError: invalid syntax" },
    };

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], true);
}

static void a_last_line_that_tells_of_no_error_is_not_sure(void **state)
{
    static const struct log_end cases[] = {
        { "loading\ndataset missing\n", "dataset missing" }, /* sys.exit('dataset missing') */
        { "dataset missing\n\r" BAR "\n\n", "dataset missing" },
        { "epoch 3", "epoch 3" },
        /* Output that only looks like a traceback. */
        { HEADER "loss: 3\naccuracy: 1\n", "accuracy: 1" },
    };
    struct buf nothing = { 0 };
    bool is_sure;

    (void)state;
    check(cases, sizeof cases / sizeof cases[0], false);
    assert_null(last_error_find(&nothing, &is_sure));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exception_is_found_behind_what_stands_around_it),
        cmocka_unit_test(other_programs_last_words_are_found),
        cmocka_unit_test(a_last_line_that_tells_of_no_error_is_not_sure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
