/* SPDX-License-Identifier: MIT */
/* sftp_conn.c - an SFTP client against servers that lie */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/sftp/sftp.h"
#include "common/sftp/sftp_packet.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* What one answers to each request in turn; the last answer goes on for ever. */
struct liar {
    const char *const *answers;
    int fd;
    pthread_t thread;
};

static void add_word(struct buf *out, const char *word)
{
    if (*word == 'u')
        packet_add_u32(out, (uint32_t)strtoul(word + 1, NULL, 0));
    else if (*word == 'U')
        packet_add_u64(out, strtoull(word + 1, NULL, 0));
    else if (*word == 's')
        packet_add_str(out, word + 1);
    else if (*word == 'z')
        packet_add_bytes(out, (struct bytes){ (const uint8_t *)"a\0b", 3 });
}

/*
 * A type, and words: u: 32 bits, U: 64 bits, s: a string, z: a string with NUL in it; i: another
 * id than was asked with.
 */
static void encode(struct buf *out, const char *answer, uint32_t id)
{
    struct buf body = { 0 };
    char *copy = mem_strdup(answer), *rest = NULL;
    const char *word = strtok_r(copy, " ", &rest);

    buf_add_char(&body, (char)atoi(word));
    word = strtok_r(NULL, " ", &rest);
    if (word != NULL && *word == 'i') {
        id = (uint32_t)strtoul(word + 1, NULL, 0);
        word = strtok_r(NULL, " ", &rest);
    }
    packet_add_u32(&body, id);
    for (; word != NULL; word = strtok_r(NULL, " ", &rest))
        add_word(&body, word);
    packet_add_bytes(out, buf_bytes(&body));
    buf_free(&body);
    free(copy);
}

static bool read_request(int fd, uint32_t *id)
{
    uint8_t head[4], *body;
    struct packet p = { head, sizeof head, false };
    uint32_t n;
    bool is_whole;

    if (io_read_all(fd, head, sizeof head) != sizeof head)
        return false;
    n = packet_u32(&p);
    body = mem_alloc(n);
    is_whole = io_read_all(fd, body, n) == (ssize_t)n && n >= 5;
    p = (struct packet){ body + 1, n - 1, false };
    *id = packet_u32(&p);
    free(body);
    return is_whole;
}

/* Says an answer, which may be several with `|` between them, in one piece. */
static bool say(int fd, const char *answer, uint32_t id)
{
    struct buf out = { 0 };
    char *copy = mem_strdup(answer), *rest = NULL;
    bool is_said;

    for (const char *a = strtok_r(copy, "|", &rest); a != NULL; a = strtok_r(NULL, "|", &rest))
        encode(&out, a, id);
    free(copy);
    is_said = send(fd, out.bytes, out.n, MSG_NOSIGNAL) == (ssize_t)out.n;
    buf_free(&out);
    return is_said;
}

static void *lie(void *context)
{
    const struct liar *l = context;
    const char *const *answer = l->answers;
    uint32_t id;
    /* What would be the id is the version. */
    bool goes_on = read_request(l->fd, &id) && say(l->fd, "2", SFTP_VERSION);

    while (goes_on && read_request(l->fd, &id) && *answer != NULL) {
        goes_on = say(l->fd, *answer, id);
        if (answer[1] != NULL)
            answer++;
    }
    close(l->fd);
    return NULL;
}

static struct sftp *ask_liar(struct liar *l, const char *const *answers)
{
    int ends[2];
    struct err e = { 0 };
    struct sftp *s;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *l = (struct liar){ .answers = answers, .fd = ends[1] };
    assert_int_equal(pthread_create(&l->thread, NULL, lie, l), 0);
    s = sftp_open(ends[0], &e);
    if (s == NULL)
        fail_msg("%s", e.text);
    return s;
}

static void leave_liar(struct liar *l, struct sftp *s)
{
    sftp_close(s);
    pthread_join(l->thread, NULL);
}

/* Two pieces of a file, the second one smaller. */
static void write_two_pieces(const char *const *answers)
{
    static const uint8_t bytes[40000];
    struct err e = { 0 };
    struct liar l;
    struct sftp *s = ask_liar(&l, answers);
    struct sftp_file *f = sftp_file_open(s, "path", SFTP_WRITE, 0, &e);

    assert_non_null(f);
    assert_int_equal(sftp_file_write(f, 0, bytes, sizeof bytes, &e), 0);
    assert_int_equal(sftp_file_sync(f, &e), -1);
    assert_int_equal(sftp_file_close(f, NULL), -1);
    leave_liar(&l, s);
}

static void a_write_that_fails_among_others_is_told(void **state)
{
    (void)state;
    write_two_pieces((const char *const[]){ "102 sh", "101 u4 s s", "101 u0 s s", NULL });
    write_two_pieces((const char *const[]){ "102 sh", "101 u0 s s", "101 u3 s s", NULL });
}

struct whole {
    struct buf *out;
    struct err *e;
    int result;
};

static void take_whole(void *context, const struct sftp_answer *a)
{
    struct whole *w = context;

    w->result = a->error != NULL ? err_set(w->e, a->error->kind, "%s", a->error->text) : 0;
    if (a->error == NULL && w->out != NULL)
        buf_add(w->out, a->content.data, a->content.n);
}

static int read_whole(struct sftp *s, const char *path, size_t max_bytes, struct buf *out,
                      struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = path, .max_bytes = max_bytes };
    struct whole w = { out, e, 0 };

    if (sftp_start(s, &op, take_whole, &w, e) < 0)
        return -1;
    (void)sftp_finish(s, NULL);
    return w.result;
}

static int ask_lstat(struct sftp *s, struct err *e)
{
    return sftp_lstat(s, "path", &(struct sftp_attrs){ 0 }, e);
}

static int ask_mkdir(struct sftp *s, struct err *e)
{
    return sftp_mkdir(s, "path", 0755, e);
}

static int ask_list(struct sftp *s, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    int result = sftp_list(s, "path", a, &entries, e);

    arena_destroy(a);
    return result;
}

static int ask_link(struct sftp *s, struct err *e)
{
    char *text = sftp_read_link(s, "path", e);

    free(text);
    return text != NULL ? 0 : -1;
}

static int ask_get(struct sftp *s, struct err *e)
{
    struct buf b = { 0 };
    int result = read_whole(s, "path", 10, &b, e);

    buf_free(&b);
    return result;
}

static int ask_file(struct sftp *s, struct err *e)
{
    struct sftp_file *f = sftp_file_open(s, "path", SFTP_READ, 0, e);
    char bytes[10];
    ssize_t n = f == NULL ? -1 : sftp_file_read(f, 0, bytes, sizeof bytes, e);

    sftp_file_close(f, NULL);
    return (int)n;
}

static int ask_new_file(struct sftp *s, struct err *e)
{
    struct sftp_file *f = sftp_file_open(s, "path", SFTP_WRITE | SFTP_CREATE, 0640, e);

    return f == NULL ? -1 : sftp_file_close(f, NULL);
}

static int ask_write(struct sftp *s, struct err *e)
{
    struct sftp_file *f = sftp_file_open(s, "path", SFTP_WRITE, 0, e);
    int result = f == NULL ? -1 : sftp_file_write(f, 0, "x", 1, e);

    if (result == 0)
        result = sftp_file_sync(f, e);
    sftp_file_close(f, NULL);
    return result;
}

#define TEN(x)  x x x x x x x x x x
#define ENDLESS "104 u1000 " TEN(TEN(TEN("sname s u0 ")))

static const struct {
    const char *what;
    int (*ask)(struct sftp *s, struct err *e);
    const char *answers[5];
    enum err_kind kind;
    const char *words;
    bool breaks;
} lies[] = {
    { "another id", ask_lstat, { "105 i77 u0" }, ERR_PROTOCOL, "not asked", true },
    { "an id far out", ask_lstat, { "105 i65535 u0" }, ERR_PROTOCOL, "not asked", true },
    { "another type", ask_lstat, { "102 shandle" }, ERR_PROTOCOL, "message 102", true },
    { "a new file's handle twice",
      ask_new_file,
      { "102 sh|102 sh" },
      ERR_PROTOCOL,
      "not asked",
      true },
    { "an unknown type", ask_lstat, { "99 u0" }, ERR_PROTOCOL, "message 99", true },
    { "success without what was asked for",
      ask_lstat,
      { "101 u0 s s" },
      ERR_PROTOCOL,
      "damaged",
      true },
    { "attributes cut short", ask_lstat, { "105 u15 U1" }, ERR_PROTOCOL, "damaged", true },
    { "attributes with endless extensions",
      ask_lstat,
      { "105 u0x80000000 u0xffffffff" },
      ERR_PROTOCOL,
      "damaged",
      true },
    { "a status cut short", ask_mkdir, { "101 u4 u100" }, ERR_PROTOCOL, "damaged", true },
    { "a status without words", ask_mkdir, { "101 u3" }, ERR_DENIED, "permission denied", false },
    { "an unknown status", ask_mkdir, { "101 u99 s s" }, ERR_PROTOCOL, "unknown status", false },
    { "words of its own",
      ask_mkdir,
      { "101 u4 sdrive\x1b[31m s", "101 u2 s s" },
      ERR_FAILED,
      "the server says: drive?[31m",
      false },
    { "that a folder is there",
      ask_mkdir,
      { "101 u4 s s", "105 u4 u0040755" },
      ERR_EXISTS,
      "path on the server is there already",
      false },
    { "the end of a mode",
      ask_mkdir,
      { "101 u0 s s", "105 u4 u0040700", "101 u1 s s" },
      ERR_PROTOCOL,
      "set the mode of path",
      false },
    { "an empty handle", ask_list, { "102 s" }, ERR_PROTOCOL, "damaged", true },
    { "names with a slash",
      ask_list,
      { "102 sh", "104 u1 s../x sx u0" },
      ERR_PROTOCOL,
      "impossible names",
      true },
    { "names with NUL",
      ask_list,
      { "102 sh", "104 u1 z sx u0" },
      ERR_PROTOCOL,
      "impossible names",
      true },
    { "empty names",
      ask_list,
      { "102 sh", "104 u1 s sx u0" },
      ERR_PROTOCOL,
      "impossible names",
      true },
    { "fewer names than announced",
      ask_list,
      { "102 sh", "104 u3 sa sx u0" },
      ERR_PROTOCOL,
      "damaged",
      true },
    { "more names than fit",
      ask_list,
      { "102 sh", "104 u0xffffffff sa sx u0" },
      ERR_PROTOCOL,
      "damaged",
      true },
    { "no names, for ever", ask_list, { "102 sh", "104 u0" }, ERR_PROTOCOL, "without end", true },
    { "a listing without end",
      ask_list,
      { "102 sh", ENDLESS },
      ERR_PROTOCOL,
      "more files than there can be",
      true },
    { "two targets of a link",
      ask_link,
      { "104 u2 sa sa u0 sb sb u0" },
      ERR_PROTOCOL,
      "no path",
      true },
    { "a target with NUL", ask_link, { "104 u1 z sa u0" }, ERR_PROTOCOL, "no path", true },
    { "a target of nothing", ask_link, { "104 u1 s sa u0" }, ERR_PROTOCOL, "no path", true },
    { "more data than asked for",
      ask_get,
      { "102 sh", "105 u0", "103 s12345678901x" },
      ERR_PROTOCOL,
      "damaged",
      true },
    { "more data than wanted",
      ask_get,
      { "102 sh", "105 u0", "103 s12345678901", "101 u0 s s" },
      ERR_USAGE,
      "larger than 10 bytes",
      false },
    { "data of no bytes", ask_get, { "102 sh", "105 u0", "103 s" }, ERR_PROTOCOL, "damaged", true },
    { "no data after all", ask_file, { "102 sh", "101 u3 s s" }, ERR_DENIED, "read path", false },
    { "a handle for a sync", ask_write, { "102 sh", "102 sh" }, ERR_PROTOCOL, "message 102", true },
    { "nothing, and hangs up",
      ask_file,
      { NULL },
      ERR_UNREACHABLE,
      "the connection for files is lost",
      true },
};

static void lies_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(lies); i++) {
        struct liar l;
        struct sftp *s = ask_liar(&l, lies[i].answers);
        struct err e = { 0 };

        assert_int_equal(lies[i].ask(s, &e), -1);
        if (e.kind != lies[i].kind || strstr(e.text, lies[i].words) == NULL ||
            sftp_is_broken(s) != lies[i].breaks)
            fail_msg("%s: %s: %s", lies[i].what, err_kind_name(e.kind), e.text);
        leave_liar(&l, s);
    }
}

static const struct {
    const char *what;
    const char *bytes;
    size_t n;
    enum err_kind kind;
    const char *words;
} greetings[] = {
    { "nothing", "", 0, ERR_UNREACHABLE, "may this account use SFTP there, " },
    { "half a length", "\0\0", 2, ERR_UNREACHABLE,
      "is there `Subsystem sftp` in its sshd_config?" },
    { "text of a shell", "Welcome to host\n", 16, ERR_PROTOCOL, "it began with 'Welc...'" },
    { "another version", "\0\0\0\5\2\0\0\0\6", 9, ERR_PROTOCOL, "version 3" },
    { "an answer", "\0\0\0\5\145\0\0\0\3", 9, ERR_PROTOCOL, "version 3" },
    { "an empty message", "\0\0\0\0", 4, ERR_PROTOCOL, "version 3" },
};

static void strange_greetings_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(greetings); i++) {
        struct err e = { 0 };
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(io_write_all(ends[1], greetings[i].bytes, greetings[i].n), 0);
        shutdown(ends[1], SHUT_WR);
        assert_null(sftp_open(ends[0], &e));
        if (e.kind != greetings[i].kind || strstr(e.text, greetings[i].words) == NULL)
            fail_msg("%s: %s: %s", greetings[i].what, err_kind_name(e.kind), e.text);
        close(ends[1]);
    }
}

static void a_modest_server_is_asked_modestly(void **state)
{
    static const char *const answers[] = { "102 sh",     "105 u0",     "103 sabc",
                                           "101 u1 s s", "101 u0 s s", NULL };
    struct liar l;
    struct sftp *s = ask_liar(&l, answers);
    struct buf b = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_false(sftp_can(s, SFTP_CAN_SYNC));
    assert_int_equal(sftp_replace(s, "a", "b", &e), -1);
    assert_non_null(strstr(e.text, "cannot do that"));
    assert_int_equal(read_whole(s, "path", 10, &b, &e), 0);
    assert_string_equal(buf_text(&b), "abc");
    buf_free(&b);
    leave_liar(&l, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_fails_among_others_is_told),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(strange_greetings_are_refused),
        cmocka_unit_test(a_modest_server_is_asked_modestly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
