/* SPDX-License-Identifier: MIT */
/* data.c - tests of datasets: who needs them, who holds them, and descriptions of old */

#include "tests/unit/server_player.h"

#include <sqlite3.h>

#include "server/conn/cached_trees.h"

static struct digest digest_named(const char *name)
{
    struct digest d;

    digest_of(name, strlen(name), &d);
    return d;
}

static struct dataset set_named(const char *name, int64_t bytes)
{
    char *id = mem_printf("where %s lies", name);
    struct dataset set = { digest_named(name), digest_named(id), 3, bytes };

    free(id);
    return set;
}

/* ---- what a worker says it holds ---- */

static void hold(struct player *w, const char *user, bool all, const char *there, const char *gone)
{
    struct held_tree tree = { .bytes = 1000 };
    struct digest_entry entry;
    struct msg_holds m = { .user = user, .all = all };

    if (there != NULL) {
        tree.tree = digest_named(there);
        m.trees = (struct list){ &tree, 1 };
    }
    if (gone != NULL) {
        entry.digest = digest_named(gone);
        m.gone = (struct list){ &entry, 1 };
    }
    peer_send(w->peer, MSG_HOLDS, &m);
    fixture_settle(w->peer->f);
}

static struct node_info node_of(struct peer *client)
{
    struct msg_get_nodes get = { .limit = 1 };
    struct msg_node_page page;

    peer_ask(client, MSG_GET_NODES, &get, &page);
    assert_int_equal(page.nodes.n, 1);
    return *(const struct node_info *)page.nodes.items;
}

static void a_node_is_listed_with_what_it_holds(void **state)
{
    struct scene *s = *state;
    struct node_info node;
    struct digest wanted = digest_named("b");

    hold(&s->w, NULL, true, "a", NULL);
    hold(&s->w, NULL, false, "b", NULL);
    hold(&s->w, "ann", true, "b", NULL);
    node = node_of(s->client);
    assert_int_equal(node.held, 3);
    assert_int_equal(node.held_bytes, 3000);
    assert_int_equal(node.holds.n, 3);
    hold(&s->w, NULL, false, NULL, "a");
    hold(&s->w, "ann", true, NULL, NULL); /* only ann's */
    node = node_of(s->client);
    assert_int_equal(node.held, 1);
    assert_true(digest_equal(&((const struct held_tree *)node.holds.items)->tree, &wanted));
    assert_null(((const struct held_tree *)node.holds.items)->user);
    leave(s);
    join(s->f, &s->w, "n1", 4);
    assert_int_equal(node_of(s->client).held, 0); /* it has not said so again */
}

static void who_is_no_worker_holds_nothing(void **state)
{
    struct scene *s = *state;
    struct msg_holds m = { .all = true };

    peer_refused(s->client, MSG_HOLDS, &m, ERR_PROTOCOL);
}

/* ---- holdings by themselves ---- */

static void take(struct cached_trees *h, const char *user, struct held_tree *trees, size_t n)
{
    struct msg_holds m = { .user = user, .trees = { trees, n } };

    cached_trees_take(h, &m);
}

static void each_user_sees_their_own_and_what_is_everybodys(void **state)
{
    struct cached_trees h = { 0 };
    struct held_tree a = { digest_named("a"), 1, NULL }, b = { digest_named("b"), 2, NULL };

    (void)state;
    assert_false(cached_trees_has(&h, "ann", &a.tree));
    take(&h, NULL, &a, 1);
    take(&h, "ann", &b, 1);
    assert_true(cached_trees_has(&h, "ann", &a.tree));
    assert_true(cached_trees_has(&h, "bob", &a.tree));
    assert_true(cached_trees_has(&h, "ann", &b.tree));
    assert_false(cached_trees_has(&h, "bob", &b.tree));
    cached_trees_free(&h);
}

static void what_is_said_twice_counts_once(void **state)
{
    struct held_tree twice[] = { { digest_named("a"), 1, NULL }, { digest_named("a"), 1, NULL } };
    struct cached_trees h = { 0 };

    (void)state;
    take(&h, NULL, twice, 2);
    take(&h, NULL, twice, 2);
    assert_int_equal(h.n, 1);
    cached_trees_free(&h);
}

static void one_that_says_very_much_is_remembered_in_part(void **state)
{
    struct held_tree trees[HOLDS_MAX];
    struct cached_trees h = { 0 };
    struct list list;
    int64_t bytes;
    struct arena *a = arena_create();

    (void)state;
    for (int64_t i = 0; i < CACHED_TREES_MAX / HOLDS_MAX + 2; i++) {
        for (int64_t k = 0; k < HOLDS_MAX; k++) {
            int64_t number = i * HOLDS_MAX + k;

            trees[k] = (struct held_tree){ .bytes = INT64_C(1) << 53 };
            digest_of(&number, sizeof number, &trees[k].tree);
        }
        take(&h, NULL, trees, HOLDS_MAX);
    }
    assert_int_equal(h.n, CACHED_TREES_MAX);
    list = cached_trees_list(&h, NULL, 5, a, &bytes);
    assert_int_equal(list.n, 5);
    assert_true(bytes == INT64_MAX); /* more than that, in fact */
    for (int i = 0; i < 2 * CACHED_TREES_USERS_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "user%d", i);
        take(&h, name, trees, 0);
    }
    assert_int_equal(h.n_users, CACHED_TREES_USERS_MAX);
    cached_trees_free(&h);
    arena_destroy(a);
}

/* Its digest and size would tell others that somebody works with it. */
static void a_users_tree_is_listed_for_that_user(void **state)
{
    static const struct {
        const char *viewer;
        size_t n;
    } cases[] = { { NULL, 3 }, { "alice", 2 }, { "bob", 2 }, { "carl", 1 } };
    static const char *const users[] = { "alice", "bob", NULL };
    struct cached_trees h = { 0 };
    struct arena *a = arena_create();
    int64_t bytes;

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        struct held_tree tree = { .bytes = 10 };

        digest_of(&i, sizeof i, &tree.tree);
        take(&h, users[i], &tree, 1);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct list list = cached_trees_list(&h, cases[i].viewer, 5, a, &bytes);
        const struct held_tree *trees = list.items;

        assert_int_equal(list.n, cases[i].n);
        assert_int_equal(bytes, 30);
        for (size_t k = 0; k < list.n; k++)
            assert_true(cases[i].viewer == NULL || trees[k].user == NULL ||
                        strcmp(trees[k].user, cases[i].viewer) == 0);
    }
    cached_trees_free(&h);
    arena_destroy(a);
}

/* ---- what sweeps need ---- */

static struct submit with_data(const char *project, const char *source, struct data_entry *data)
{
    struct submit s = submit_of(project, 1);

    s.begin.work.source = set_named(source, 10);
    if (data != NULL)
        s.begin.work.data = (struct list){ data, 1 };
    return s;
}

static struct msg_data_page ask_data(struct peer *p, const char *project)
{
    struct msg_get_data get = { .project = project };
    struct msg_data_page page;

    peer_ask(p, MSG_GET_DATA, &get, &page);
    return page;
}

/* The one called so; NULL: the source. */
static struct dataset_info data_named(struct peer *p, const char *project, const char *name)
{
    struct msg_data_page page = ask_data(p, project);
    const struct dataset_info *items = page.data.items;

    for (size_t i = 0; i < page.data.n; i++)
        if (name == NULL ? items[i].name == NULL
                         : items[i].name != NULL && strcmp(items[i].name, name) == 0)
            return items[i];
    fail_msg("no such dataset");
    return (struct dataset_info){ 0 };
}

static void datasets_are_listed_with_who_needs_and_who_holds_them(void **state)
{
    struct scene *s = *state;
    struct data_entry data = { "corpora", set_named("corpora", 5000), NULL };
    struct dataset_info info;
    int64_t second;

    assert_int_equal(ask_data(s->client, "p").data.n, 0); /* its sweep has none */
    submit_all(s->client, with_data("p", "v1", &data), 10, 10);
    second = submit_all(s->client, with_data("p", "v2", &data), 11, 11).sweep;
    assert_int_equal(ask_data(s->client, "p").data.n, 3);
    hold(&s->w, "somebody", true, "corpora", NULL); /* who could be found out to have the same */
    assert_int_equal(data_named(s->client, "p", "corpora").nodes.n, 0);
    hold(&s->w, NULL, true, "corpora", NULL);
    info = data_named(s->client, "p", "corpora");
    assert_int_equal(info.set.bytes, 5000);
    assert_int_equal(info.set.files, 3);
    assert_true(digest_equal(&info.set.tree, &data.set.tree));
    assert_true(digest_equal(&info.set.id, &data.set.id));
    assert_int_equal(info.sweep, second);
    assert_int_equal(info.unfinished, 2);
    assert_true(info.used_at >= info.added_at && info.added_at > 0);
    assert_int_equal(info.nodes.n, 1);
    assert_string_equal(((const char *const *)info.nodes.items)[0], "n1");
    cancel(s->client, second, 1);
    assert_int_equal(data_named(s->client, "p", "corpora").unfinished, 1);
    assert_int_equal(data_named(s->client, "p", NULL).nodes.n, 0);
}

static void an_open_submit_needs_its_data_and_one_given_up_does_not(void **state)
{
    struct scene *s = *state;
    struct submit open = with_data("p", "v1", NULL);
    struct peer *other = client_connect(s->f);

    submit_begin(other, &open);
    assert_int_equal(data_named(s->client, "p", NULL).unfinished, 1);
    peer_close(other);
    fixture_settle(s->f);
    assert_int_equal(data_named(s->client, "p", NULL).unfinished, 0);
}

static void pages_go_on_where_the_last_one_ended(void **state)
{
    struct scene *s = *state;
    struct msg_get_data get = { .project = "p", .limit = 1 };
    struct msg_data_page page;
    struct data_entry data = { "corpora", set_named("corpora", 5000), NULL };

    submit_all(s->client, with_data("p", "v1", &data), 10, 10);
    peer_ask(s->client, MSG_GET_DATA, &get, &page);
    assert_int_equal(page.data.n, 1);
    assert_true(page.next > 0);
    get.after = page.next;
    peer_ask(s->client, MSG_GET_DATA, &get, &page);
    assert_int_equal(page.data.n, 1);
    assert_int_equal(page.next, 0);
}

static void others_see_only_what_they_may(void **state)
{
    struct scene *s = *state;
    struct peer *stranger = stranger_connect(s->f, 4000001);
    struct msg_get_data get = { .project = "p" };

    assert_int_equal(chmod(s->f->sv.conf.share, 0700), 0);
    submit_all(s->client, with_data("p", "v1", NULL), 10, 10);
    assert_int_equal(ask_data(stranger, NULL).data.n, 0);
    assert_int_equal(ask_data(s->client, NULL).data.n, 1);
    peer_refused(stranger, MSG_GET_DATA, &get, ERR_DENIED);
    get.project = "none";
    peer_refused(stranger, MSG_GET_DATA, &get, ERR_NOT_FOUND);
    peer_close(stranger);
}

/* ---- where jobs go ---- */

/* Two workers with four processors each; the first holds "corpora". */
struct pair {
    struct fixture *f;
    struct peer *client;
    struct player near, far;
};

static void pair_open(struct pair *p)
{
    *p = (struct pair){ .f = fixture_open() };
    p->client = client_connect(p->f);
    join(p->f, &p->near, "near", 4);
    join(p->f, &p->far, "far", 4);
    hold(&p->near, NULL, true, "corpora", NULL);
}

static void pair_close(struct pair *p)
{
    peer_close(p->client);
    peer_close(p->near.peer);
    peer_close(p->far.peer);
    fixture_close(p->f);
}

static void submit_with_data(struct pair *p, int64_t bytes, int64_t jobs)
{
    struct data_entry data = { "corpora", set_named("corpora", bytes), NULL };

    submit_all(p->client, with_data("p", "v1", &data), 1, jobs);
    listen_to(&p->near);
    listen_to(&p->far);
}

static void jobs_go_to_who_holds_their_data(void **state)
{
    struct pair p;

    (void)state;
    pair_open(&p);
    submit_with_data(&p, INT64_C(1) << 40, 6);
    assert_int_equal(p.near.n_hand, 4);
    assert_int_equal(p.far.n_hand, 0);
    hold(&p.far, NULL, false, "corpora", NULL); /* now they both do */
    listen_to(&p.far);
    assert_int_equal(p.far.n_hand, 2);
    pair_close(&p);
}

static void busy_workers_are_told_once_what_comes_next(void **state)
{
    const struct dataset *sets;
    struct digest corpora = digest_named("corpora");
    struct pair p;

    (void)state;
    pair_open(&p);
    submit_all(p.client, submit_of("busy", 1), 1, 8);
    submit_with_data(&p, INT64_C(1) << 40, 1); /* the one that holds them may get it */
    assert_int_equal(p.near.n_hand + p.far.n_hand, 8);
    assert_int_equal(p.near.n_expected + p.far.n_expected, 0);
    submit_with_data(&p, INT64_C(1) << 40, 9);
    assert_int_equal(p.near.n_expected, 0);
    assert_int_equal(p.far.n_expected, 1);
    assert_string_equal(p.far.expected.project, "p");
    assert_string_equal(p.far.expected.user, p.far.peer->conn->user);
    assert_int_equal(p.far.expected.sets.n, 2); /* the source, which is small, as well */
    sets = p.far.expected.sets.items;
    assert_memory_equal(&sets[1].tree, &corpora, sizeof corpora);
    cancel(p.client, 1, 1);
    listen_to(&p.far);
    assert_int_equal(p.far.n_expected, 1);
    pair_close(&p);
}

static void after_a_moment_the_others_get_them_though_nothing_happens(void **state)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;
    struct pair p;

    (void)state;
    pair_open(&p);
    submit_with_data(&p, 30 * 1000 * 1000, 6); /* some 300 ms */
    assert_int_equal(p.near.n_hand, 4);
    while (p.far.n_hand == 0 && units_monotonic_ms() < until_ms) {
        uv_run(&p.f->sv.loop, UV_RUN_ONCE);
        listen_to(&p.far);
    }
    assert_int_equal(p.far.n_hand, 2);
    pair_close(&p);
}

static void a_source_of_no_size_is_brought_anywhere(void **state)
{
    struct pair p;

    (void)state;
    pair_open(&p);
    submit_with_data(&p, 1000, 6);
    assert_int_equal(p.near.n_hand, 3);
    assert_int_equal(p.far.n_hand, 3);
    pair_close(&p);
}

/* ---- what an earlier ludwigd has kept ---- */

/* As work.source was one digest. */
static void add_old_work(struct buf *out)
{
    static const uint8_t source[DIGEST_BYTES] = { 1, 2, 3 };

    mp_add_map(out, 3);
    mp_add_str(out, "command", 7);
    mp_add_str(out, "true", 4);
    mp_add_str(out, "resources", 9);
    mp_add_map(out, 1);
    mp_add_str(out, "cpus_milli", 10);
    mp_add_int(out, 1000);
    mp_add_str(out, "source", 6);
    mp_add_bin(out, source, sizeof source);
}

/* The server is away meanwhile: its database is nobody else's. */
static void make_old(struct fixture *f, int64_t sweep)
{
    char *path = mem_printf("%s/state/ludwig.db", f->dir);
    struct buf work = { 0 };
    sqlite3_stmt *stmt;
    sqlite3 *db;

    server_close(&f->sv);
    add_old_work(&work);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "UPDATE sweep SET work = ? WHERE id = ?", -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_blob(stmt, 1, work.bytes, (int)work.n, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, sweep);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    buf_free(&work);
    free(path);
    fixture_start(f);
}

static void a_sweep_of_an_earlier_version_is_set_aside_and_says_why(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *client = client_connect(f);
    int64_t old = submit_all(client, submit_of("p", 1), 1, 2).sweep;
    int64_t next = submit_all(client, submit_of("p", 1), 3, 3).sweep;
    struct msg_ask_why ask = { old, 1 };
    struct player w = { 0 };
    struct msg_why why;

    (void)state;
    peer_close(client);
    make_old(f, old);
    client = client_connect(f);
    join(f, &w, "n1", 4);
    assert_int_equal(w.n_hand, 1); /* the other sweep goes on */
    assert_int_equal(w.hand[0].sweep, next);
    peer_ask(client, MSG_ASK_WHY, &ask, &why);
    assert_int_equal(why.lines.n, 1);
    assert_non_null(strstr(((const char *const *)why.lines.items)[0],
                           "it was submitted to another version of ludwig"));
    cancel(client, old, 1);
    cancel(client, old, 2);
    assert_int_equal(sweep_of(client, old).state, SWEEP_CANCELLED);
    peer_close(client);
    peer_close(w.peer);
    fixture_close(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_is_listed_with_what_it_holds),
        TEST(who_is_no_worker_holds_nothing),
        cmocka_unit_test(a_users_tree_is_listed_for_that_user),
        cmocka_unit_test(each_user_sees_their_own_and_what_is_everybodys),
        cmocka_unit_test(what_is_said_twice_counts_once),
        cmocka_unit_test(one_that_says_very_much_is_remembered_in_part),
        TEST(datasets_are_listed_with_who_needs_and_who_holds_them),
        TEST(an_open_submit_needs_its_data_and_one_given_up_does_not),
        TEST(pages_go_on_where_the_last_one_ended),
        TEST(others_see_only_what_they_may),
        cmocka_unit_test(jobs_go_to_who_holds_their_data),
        cmocka_unit_test(busy_workers_are_told_once_what_comes_next),
        cmocka_unit_test(after_a_moment_the_others_get_them_though_nothing_happens),
        cmocka_unit_test(a_source_of_no_size_is_brought_anywhere),
        cmocka_unit_test(a_sweep_of_an_earlier_version_is_set_aside_and_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
