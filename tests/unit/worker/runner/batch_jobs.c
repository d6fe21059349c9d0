/* SPDX-License-Identifier: MIT */
/* batch_jobs.c - the jobs of a batch, as their one process is told them and reports them */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>

#include "common/data/json.h"
#include "tests/unit/worker_site.h"
#include "worker/runner/batch_jobs.h"
#include "worker/runner/jobdir.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEX_F "ffffffffffffffffffffffffffffffff"

/* ---- the chunk ---- */

/* {depth: 3, lr: lr} */
static struct bytes pack_params(struct arena *a, double lr)
{
    struct buf packed = { 0 };
    struct bytes bytes;

    mp_add_map(&packed, 2);
    mp_add_str(&packed, "depth", 5);
    mp_add_int(&packed, 3);
    mp_add_str(&packed, "lr", 2);
    mp_add_float(&packed, lr);
    bytes = (struct bytes){ (uint8_t *)arena_strndup(a, (char *)packed.bytes, packed.n), packed.n };
    buf_free(&packed);
    return bytes;
}

/* Jobs 7.13 and 7.14, whose lr differs. */
static struct order_run two_jobs(struct site *s, const char *command)
{
    struct order_run run = { .order = site_order(s, 'a', command) };
    struct assignment *mate = arena_alloc(s->arena, sizeof *mate);

    assert_int_equal(token_parse(HEX_F, &run.order.assignment.batch), 0);
    run.order.assignment.params = pack_params(s->arena, 0.1);
    *mate = run.order.assignment;
    assert_int_equal(token_parse(HEX_B, &mate->token), 0);
    mate->job = 14;
    mate->param_name = "param_004";
    mate->rep = 2;
    mate->seed = 100;
    mate->restart = 1;
    mate->params = pack_params(s->arena, 0.2);
    run.mates = (struct list){ mate, 1 };
    return run;
}

static struct value make_chunk(struct site *s, const struct order_run *run)
{
    struct value chunk;
    struct err e = { 0 };

    if (chunk_make(run, "/scratch/run", s->arena, &chunk, &e) < 0)
        fail_msg("%s", e.text);
    return chunk;
}

static void a_chunk_says_all_about_each_of_its_jobs(void **state)
{
    static const char expected[] =
        "[{\"job\": \"7.13\", \"param_name\": \"param_003\", \"job_name\": "
        "\"20261121-101500_num0\", \"rep\": 0, \"seed\": 99, \"restart\": 0, "
        "\"params\": {\"depth\": 3, \"lr\": 0.1}, "
        "\"param2val\": \"/scratch/run/" HEX_A "/param2val.json\", "
        "\"save_path\": \"/scratch/run/" HEX_A "/save\", "
        "\"checkpoint\": \"/scratch/run/" HEX_A "/checkpoint\"}, "
        "{\"job\": \"7.14\", \"param_name\": \"param_004\", \"job_name\": "
        "\"20261121-101500_num0\", \"rep\": 2, \"seed\": 100, \"restart\": 1, "
        "\"params\": {\"depth\": 3, \"lr\": 0.2}, "
        "\"param2val\": \"/scratch/run/" HEX_B "/param2val.json\", "
        "\"save_path\": \"/scratch/run/" HEX_B "/save\", "
        "\"checkpoint\": \"/scratch/run/" HEX_B "/checkpoint\"}]";
    struct site s;
    struct order_run run;
    struct value chunk, wanted;
    struct buf text = { 0 };

    (void)state;
    site_open(&s, NULL);
    run = two_jobs(&s, "python3 run.py");
    chunk = make_chunk(&s, &run);
    assert_int_equal(json_read(expected, strlen(expected), s.arena, &wanted, NULL), 0);
    json_add_value(&text, &chunk);
    if (!value_equal(&chunk, &wanted))
        fail_msg("%s", buf_text(&text));
    buf_free(&text);
    site_close(&s);
}

static void one_job_alone_is_a_chunk_too(void **state)
{
    struct site s;
    struct order_run run;

    (void)state;
    site_open(&s, NULL);
    run = two_jobs(&s, "python3 run.py");
    run.mates.n = 0;
    assert_int_equal(chunk_count(&run), 1);
    assert_int_equal(make_chunk(&s, &run).list.n, 1);
    site_close(&s);
}

static void the_command_is_the_same_for_all_jobs(void **state)
{
    static const struct {
        const char *command;
        bool is_fine;
    } cases[] = {
        { "run.py", true },
        { "run.py --depth {depth}", true },
        { "run.py --lr {lr}", false },
        { "run.py --name {name}", false },
        { "echo {{lr}}", true },
    };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct order_run run = two_jobs(&s, cases[i].command);
        struct value chunk = make_chunk(&s, &run);
        struct err e = { 0 };

        if ((chunk_check_command(cases[i].command, &chunk, &e) == 0) != cases[i].is_fine)
            fail_msg("%s: %s", cases[i].command, e.text);
        assert_int_equal(e.kind, cases[i].is_fine ? ERR_NONE : ERR_USAGE);
    }
    site_close(&s);
}

static void parameters_that_are_none_are_refused(void **state)
{
    struct site s;
    struct order_run run;
    struct assignment *mate;
    struct value chunk;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    run = two_jobs(&s, "run.py");
    mate = run.mates.items;
    mate->params.n--; /* torn */
    assert_int_equal(chunk_make(&run, "/run", s.arena, &chunk, &e), -1);
    assert_non_null(strstr(e.text, "job 14"));
    mate->params = (struct bytes){ (const uint8_t *)"\x01", 1 }; /* a number */
    assert_int_equal(chunk_make(&run, "/run", s.arena, &chunk, &e), -1);
    assert_non_null(strstr(e.text, "no map"));
    site_close(&s);
}

static struct order process_order(const struct order_run *run)
{
    struct order process = run->order;

    process.assignment.token = process.assignment.batch;
    return process;
}

static void make_folder(struct site *s, const struct order *o, const struct value *params)
{
    struct spares spares = { 0 };
    struct jobdir dir;
    struct err e = { 0 };

    if (jobdir_make(&dir, &s->scratch, &spares, o, params, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(dir.work_fd < 0, order_is_mate(o));
    jobdir_close(&dir);
    spares_free(&spares);
}

static void both_files_of_a_chunk_say_the_same(void **state)
{
    struct site s;
    struct order_run run;
    struct order process;
    struct value chunk, read;
    struct buf packed = { 0 };
    const char *json;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    run = two_jobs(&s, "run.py");
    process = process_order(&run);
    chunk = make_chunk(&s, &run);
    make_folder(&s, &process, &chunk);
    json = site_read(&s, "scratch/run/" HEX_F "/chunk.json");
    assert_int_equal(json_read(json, strlen(json), s.arena, &read, &e), 0);
    assert_true(value_equal(&read, &chunk));
    assert_int_equal(
        io_read_file_at(s.scratch.run_fd, HEX_F "/chunk.msgpack", 1 << 20, &packed, &e), 0);
    assert_int_equal(mp_read(packed.bytes, packed.n, s.arena, &read, &e), 0);
    assert_true(value_equal(&read, &chunk));
    buf_free(&packed);
    site_close(&s);
}

static void a_process_and_its_jobs_have_folders_for_what_is_theirs(void **state)
{
    static const struct {
        const char *name;
        bool of_process, of_job;
    } cases[] = {
        { "order", true, true },
        { "work", true, false },
        { "tmp", true, false },
        { "save", false, true },
        { "checkpoint", false, true },
        { "param2val.json", false, true },
        { "param2val.yaml", false, true },
        { "param2val.msgpack", false, true },
        { "chunk.json", true, false },
        { "chunk.msgpack", true, false },
    };
    struct site s;
    struct order_run run;
    struct order process;
    struct value chunk;

    (void)state;
    site_open(&s, NULL);
    run = two_jobs(&s, "run.py");
    process = process_order(&run);
    chunk = make_chunk(&s, &run);
    make_folder(&s, &run.order, value_get(&chunk.list.items[0], "params"));
    make_folder(&s, &process, &chunk);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *in_process = mem_printf("scratch/run/" HEX_F "/%s", cases[i].name);
        char *in_job = mem_printf("scratch/run/" HEX_A "/%s", cases[i].name);

        if (site_has(&s, in_process) != cases[i].of_process)
            fail_msg("%s", in_process);
        if (site_has(&s, in_job) != cases[i].of_job)
            fail_msg("%s", in_job);
        free(in_process);
        free(in_job);
    }
    site_close(&s);
}

/* ---- lines ---- */

struct heard {
    struct buf text;
};

static void hear(void *context, const struct follow_report *r)
{
    struct heard *h = context;

    buf_printf(&h->text, "%lld.%lld", (long long)r->sweep, (long long)r->job);
    if (r->measures.n > 0)
        buf_printf(&h->text, " %.*s", (int)r->measures.n - 1, (const char *)r->measures.data);
    if (r->is_done)
        buf_add_str(&h->text, " done");
    if (r->has_failed)
        buf_printf(&h->text, " failed:%s", r->reason == NULL ? "" : r->reason);
    if (r->log_size_bytes >= 0)
        buf_printf(&h->text, " log:%llu:%lld", (unsigned long long)r->log_inode,
                   (long long)r->log_size_bytes);
    buf_add_char(&h->text, '\n');
}

struct line_case {
    const char *text;
    const char *heard;
};

#define SPACES_10 "          "
#define SPACES_100                                                                            \
    SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 SPACES_10 \
        SPACES_10

static const struct line_case lines[] = {
    { "", "" },
    { "\n\n\n", "" },
    { "{\"job\": \"7.13\", \"done\": true}\n", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"done\": true}", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"done\": true}\r\n", "7.13 done\n" },
    { "  {\"done\":true,\"job\":\"7.13\"}  \n", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"done\": false}\n", "7.13\n" },
    { "{\"job\": \"7.13\", \"done\": 1}\n", "7.13\n" },
    { "{\"job\": \"7.13\", \"done\": \"true\"}\n", "7.13\n" },
    { "{\"job\": \"7.13\", \"failed\": \"no such file\"}\n", "7.13 failed:no such file\n" },
    { "{\"job\": \"7.13\", \"failed\": true}\n", "7.13 failed:\n" },
    { "{\"job\": \"7.13\", \"failed\": \"\"}\n", "7.13 failed:\n" },
    { "{\"job\": \"7.13\", \"failed\": false}\n", "7.13\n" },
    { "{\"job\": \"7.13\", \"failed\": null}\n", "7.13\n" },
    { "{\"job\": \"7.13\", \"done\": true, \"failed\": \"x\"}\n", "7.13 failed:x\n" },
    { "{\"job\": \"7.13\", \"accuracy\": 0.9, \"step\": 3}\n",
      "7.13 {\"accuracy\":0.9,\"step\":3}\n" },
    { "{\"job\": \"7.13\", \"loss\": NaN}\n", "7.13 {\"loss\":NaN}\n" },
    { "{\"job\": \"7.13\", \"accuracy\": 1, \"done\": true}\n", "7.13 {\"accuracy\":1} done\n" },
    { "{\"job\": \"7.13\", \"a\": 1}\n{\"job\": \"7.14\", \"done\": true}\n",
      "7.13 {\"a\":1}\n7.14 done\n" },
    { "{\"job\": \"7.13\", \"\\u00e4\\n\": \"\xc3\xa9\"}\n",
      "7.13 {\"\xc3\xa4\\n\":\"\xc3\xa9\"}\n" },
    /* where the log was */
    { "{\"job\": \"7.13\", \"done\": true, \"log\": [12, 300]}\n", "7.13 done log:12:300\n" },
    { "{\"job\": \"7.13\", \"failed\": true, \"log\": [12]}\n", "7.13 failed:\n" },
    { "{\"job\": \"7.13\", \"done\": true, \"log\": [\"12\", 300]}\n", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"done\": true, \"log\": [12, -5]}\n", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"log\": 0.5}\n", "7.13 {\"log\":0.5}\n" },
    /* not about a job */
    { "{\"accuracy\": 0.9}\n", "" },
    { "{\"job\": 7.13, \"done\": true}\n", "" },
    { "{\"job\": 13, \"done\": true}\n", "" },
    { "{\"job\": null, \"done\": true}\n", "" },
    { "{\"job\": \"\", \"done\": true}\n", "" },
    { "{\"job\": \"13\", \"done\": true}\n", "" },
    { "{\"job\": \"7.\", \"done\": true}\n", "" },
    { "{\"job\": \".13\", \"done\": true}\n", "" },
    { "{\"job\": \"7.13 \", \"done\": true}\n", "" },
    { "{\"job\": \" 7.13\", \"done\": true}\n", "" },
    { "{\"job\": \"-7.13\", \"done\": true}\n", "" },
    { "{\"job\": \"7.+13\", \"done\": true}\n", "" },
    { "{\"job\": \"7.13.1\", \"done\": true}\n", "" },
    { "{\"job\": \"0.0\", \"done\": true}\n", "" },
    { "{\"job\": \"7.13\\u0000\", \"done\": true}\n", "" },
    { "{\"job\": \"7.99999999999999999999\", \"done\": true}\n", "" },
    { "{\"job\": [\"7.13\"], \"done\": true}\n", "" },
    /* no line of JSON, and the next one is */
    { "epoch 1 of 3\n{\"job\": \"7.13\", \"done\": true}\n", "7.13 done\n" },
    { "{\"job\": \"7.13\", \"do{\"job\": \"7.13\", \"done\": true}\n", "" },
    { "{\"job\": \"7.13\", \"done\": true}{\"job\": \"7.14\", \"done\": true}\n", "" },
    { "[{\"job\": \"7.13\", \"done\": true}]\n{\"job\": \"7.1\", \"done\": true}\n", "7.1 done\n" },
    { "null\ntrue\n0\n\"7.13\"\n", "" },
    { "\xff\xfe\x80\n{\"job\": \"7.13\", \"done\": true}\n", "7.13 done\n" },
    { "{\"job\": \"7.13\",\n\"done\": true}\n", "" },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n{\"job\": \"7.13\", \"done\": true}\n",
      "7.13 done\n" },
};

/* What is heard of the text when it comes in these two pieces. */
static void check_pieces(const struct line_case *c, size_t first)
{
    struct heard h = { 0 };
    struct follow f;

    follow_open(&f, -1, hear, &h);
    follow_feed(&f, c->text, first);
    follow_feed(&f, c->text + first, strlen(c->text) - first);
    follow_end(&f);
    if (strcmp(buf_text(&h.text), c->heard) != 0)
        fail_msg("cut at %zu: %s\nheard: %s", first, c->text, buf_text(&h.text));
    follow_close(&f);
    buf_free(&h.text);
}

static void lines_are_understood_wherever_they_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        for (size_t first = 0; first <= strlen(lines[i].text); first++)
            check_pieces(&lines[i], first);
}

static void all_lines_together_are_heard_byte_by_byte(void **state)
{
    struct heard h = { 0 };
    struct buf all = { 0 }, wanted = { 0 };
    struct follow f;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        buf_printf(&all, "%s\n", lines[i].text);
        buf_add_str(&wanted, lines[i].heard);
    }
    follow_open(&f, -1, hear, &h);
    for (size_t i = 0; i < all.n; i++)
        follow_feed(&f, (const char *)&all.bytes[i], 1);
    assert_string_equal(buf_text(&h.text), buf_text(&wanted));
    follow_close(&f);
    buf_free(&h.text);
    buf_free(&all);
    buf_free(&wanted);
}

/* A line of this many bytes about job 7.13, then one about 7.14. */
static const char *hear_long_line(size_t n, struct heard *h)
{
    static const char head[] = "{\"job\": \"7.13\", \"done\": true";
    struct buf text = { 0 };
    struct follow f;

    buf_add(&text, head, strlen(head));
    while (text.n < n - 1)
        buf_add_char(&text, ' ');
    buf_add_str(&text, "}\n{\"job\": \"7.14\", \"done\": true}\n");
    follow_open(&f, -1, hear, h);
    for (size_t at = 0; at < text.n; at += 1000)
        follow_feed(&f, (const char *)text.bytes + at, text.n - at < 1000 ? text.n - at : 1000);
    follow_close(&f);
    buf_free(&text);
    return buf_text(&h->text);
}

static void a_line_without_end_takes_no_memory_and_hides_no_other(void **state)
{
    struct heard h = { 0 };

    (void)state;
    assert_string_equal(hear_long_line((size_t)64 * 1024, &h), "7.13 done\n7.14 done\n");
    buf_clear(&h.text);
    assert_string_equal(hear_long_line((size_t)64 * 1024 + 1, &h), "7.14 done\n");
    buf_clear(&h.text);
    assert_string_equal(hear_long_line((size_t)3 * 1024 * 1024, &h), "7.14 done\n");
    buf_free(&h.text);
}

/* ---- the file ---- */

struct file_site {
    struct site site;
    struct heard heard;
    struct follow follow;
    int dir_fd;
};

#define DONE(job) "{\"job\": \"7." job "\", \"done\": true}\n"

static void open_file_site(struct file_site *s)
{
    struct err e = { 0 };

    *s = (struct file_site){ .dir_fd = -1 };
    site_open(&s->site, NULL);
    assert_int_equal(mkdirat(s->site.scratch.run_fd, HEX_F, 0700), 0);
    s->dir_fd = io_open_dir_at(s->site.scratch.run_fd, HEX_F, &e);
    follow_open(&s->follow, dup(s->dir_fd), hear, &s->heard);
}

static void close_file_site(struct file_site *s)
{
    follow_close(&s->follow);
    buf_free(&s->heard.text);
    close(s->dir_fd);
    site_close(&s->site);
}

static void append(const struct file_site *s, const char *text)
{
    int fd = openat(s->dir_fd, JOB_METRICS, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

/* What is new since the last time. */
static void assert_heard(struct file_site *s, const char *text)
{
    buf_clear(&s->heard.text);
    while (follow_look(&s->follow))
        ;
    assert_string_equal(buf_text(&s->heard.text), text);
}

static bool is_told(const struct file_site *s)
{
    struct pollfd p = { s->follow.inotify_fd, POLLIN, 0 };

    assert_true(p.fd >= 0);
    return poll(&p, 1, 0) > 0;
}

static void the_file_is_followed_from_before_it_is_there(void **state)
{
    struct file_site s;

    (void)state;
    open_file_site(&s);
    assert_heard(&s, "");
    assert_false(is_told(&s));
    append(&s, DONE("1") "{\"job\": ");
    assert_true(is_told(&s));
    assert_heard(&s, "7.1 done\n");
    assert_false(is_told(&s));
    assert_heard(&s, "");
    append(&s, "\"7.2\", \"done\": true}\n");
    assert_true(is_told(&s));
    assert_heard(&s, "7.2 done\n");
    close_file_site(&s);
}

static void a_last_line_without_its_end_counts_at_the_end(void **state)
{
    struct file_site s;

    (void)state;
    open_file_site(&s);
    append(&s, "{\"job\": \"7.1\", \"done\": true}");
    assert_heard(&s, "");
    follow_end(&s.follow);
    assert_string_equal(buf_text(&s.heard.text), "7.1 done\n");
    follow_end(&s.follow); /* once */
    assert_string_equal(buf_text(&s.heard.text), "7.1 done\n");
    close_file_site(&s);
}

static void a_file_that_became_shorter_is_read_from_its_beginning(void **state)
{
    struct file_site s;

    (void)state;
    open_file_site(&s);
    append(&s, DONE("1") DONE("2") "{\"job\": \"7.");
    assert_heard(&s, "7.1 done\n7.2 done\n");
    site_write(s.dir_fd, JOB_METRICS, "3\"}\n" DONE("4"));
    assert_true(is_told(&s));
    assert_heard(&s, "7.4 done\n");
    close_file_site(&s);
}

static void another_file_in_its_place_is_read_too(void **state)
{
    struct file_site s;

    (void)state;
    open_file_site(&s);
    append(&s, DONE("1"));
    assert_heard(&s, "7.1 done\n");
    site_write(s.dir_fd, "new", DONE("2") DONE("3"));
    assert_int_equal(renameat(s.dir_fd, "new", s.dir_fd, JOB_METRICS), 0);
    assert_true(is_told(&s));
    assert_heard(&s, "7.2 done\n7.3 done\n");
    assert_int_equal(unlinkat(s.dir_fd, JOB_METRICS, 0), 0);
    assert_heard(&s, "");
    close_file_site(&s);
}

static void what_is_no_file_is_not_read(void **state)
{
    struct file_site s;

    (void)state;
    open_file_site(&s);
    assert_int_equal(mkfifoat(s.dir_fd, JOB_METRICS, 0600), 0);
    assert_heard(&s, ""); /* and does not wait */
    assert_int_equal(unlinkat(s.dir_fd, JOB_METRICS, 0), 0);
    site_write(s.dir_fd, "other", DONE("1"));
    assert_int_equal(symlinkat("other", s.dir_fd, JOB_METRICS), 0);
    assert_heard(&s, "");
    assert_int_equal(unlinkat(s.dir_fd, JOB_METRICS, 0), 0);
    assert_int_equal(mkdirat(s.dir_fd, JOB_METRICS, 0700), 0);
    assert_heard(&s, "");
    close_file_site(&s);
}

static void much_at_once_is_read_piece_by_piece(void **state)
{
    struct file_site s;
    struct buf text = { 0 };
    int n_looks = 1;

    (void)state;
    open_file_site(&s);
    while (text.n < (size_t)3 * 1024 * 1024)
        buf_add_str(&text, "{\"a long line\": \"" SPACES_100 "\"}\n");
    buf_add_str(&text, DONE("1"));
    append(&s, buf_text(&text));
    while (follow_look(&s.follow))
        n_looks++;
    assert_string_equal(buf_text(&s.heard.text), "7.1 done\n");
    assert_in_range(n_looks, 3, 5);
    buf_free(&text);
    close_file_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_says_all_about_each_of_its_jobs),
        cmocka_unit_test(one_job_alone_is_a_chunk_too),
        cmocka_unit_test(the_command_is_the_same_for_all_jobs),
        cmocka_unit_test(parameters_that_are_none_are_refused),
        cmocka_unit_test(both_files_of_a_chunk_say_the_same),
        cmocka_unit_test(a_process_and_its_jobs_have_folders_for_what_is_theirs),
        cmocka_unit_test(lines_are_understood_wherever_they_are_cut),
        cmocka_unit_test(all_lines_together_are_heard_byte_by_byte),
        cmocka_unit_test(a_line_without_end_takes_no_memory_and_hides_no_other),
        cmocka_unit_test(the_file_is_followed_from_before_it_is_there),
        cmocka_unit_test(a_last_line_without_its_end_counts_at_the_end),
        cmocka_unit_test(a_file_that_became_shorter_is_read_from_its_beginning),
        cmocka_unit_test(another_file_in_its_place_is_read_too),
        cmocka_unit_test(what_is_no_file_is_not_read),
        cmocka_unit_test(much_at_once_is_read_piece_by_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
