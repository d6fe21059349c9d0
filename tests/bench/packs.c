/* SPDX-License-Identifier: MIT */
/* packs.c - measures packing a folder and unpacking it again, without the rest of ludwig */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_read.h"
#include "common/base/hash_table.h"
#include "common/pack/pack_write.h"

/*
 * packs pack FROM STORE       packs FROM into parts and objects below STORE; prints the id
 * packs again FROM STORE      packs twice in a row, the second time without reading a file
 * packs unpack STORE ID TO THREADS
 *
 * Nothing is synced.  Prints seconds, CPU seconds and the peak memory in MiB to stderr.
 */

static void die(const struct err *e)
{
    fprintf(stderr, "packs: %s\n", e->text);
    exit(1);
}

static void check(int result, const struct err *e)
{
    if (result < 0)
        die(e);
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const char *what, double wall, double cpu)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%s: %.2f s, CPU %.2f s, %ld MiB\n", what, seconds(CLOCK_MONOTONIC) - wall,
            seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, usage.ru_maxrss / 1024);
}

/* ---- a folder as a store ---- */

struct store {
    const char *dir;
    int fds[PACK_SLOTS];
    struct hash_table *known; /* piece: which of places */
    struct pack_place *places;
    size_t n_places, capacity;
    struct arena *arena;
};

static char *temporary(const struct store *s, unsigned slot)
{
    return mem_printf("%s/tmp.%u", s->dir, slot);
}

static int part_begin_(void *context, unsigned slot, struct err *e)
{
    struct store *s = context;
    char *path = temporary(s, slot);

    s->fds[slot] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    free(path);
    return s->fds[slot] < 0 ? err_sys(e, "open") : 0;
}

static int part_write_(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct store *s = context;

    return io_write_all(s->fds[slot], bytes.data, bytes.n) < 0 ? err_sys(e, "write") : 0;
}

static int object_(void *context, enum pack_object kind, const struct digest *name,
                   struct bytes bytes, struct err *e)
{
    struct store *s = context;
    struct buf path = { 0 };
    int fd;

    buf_printf(&path, "%s/", s->dir);
    pack_object_path(&path, kind, name);
    fd = open(buf_text(&path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || io_write_all(fd, bytes.data, bytes.n) < 0)
        return err_sys(e, "write %s", buf_text(&path));
    close(fd);
    buf_free(&path);
    return 0;
}

static void learn(struct store *s, const struct pack_part *part, struct bytes list)
{
    struct pack_list *l = pack_list_decode(&part->list, list, NULL);
    struct pack_part *kept = arena_alloc(s->arena, sizeof *kept);

    *kept = *part;
    for (uint32_t i = 0; i < l->n; i++) {
        mem_grow((void **)&s->places, &s->capacity, s->n_places, sizeof *s->places);
        s->places[s->n_places] = (struct pack_place){ kept, i };
        hash_table_add(s->known, &l->pieces[i].digest, (uint32_t)s->n_places++);
    }
    pack_list_destroy(l);
}

static int part_end_(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                     struct err *e)
{
    struct store *s = context;
    struct buf path = { 0 };
    char *from = temporary(s, slot);
    int result;

    close(s->fds[slot]);
    buf_printf(&path, "%s/", s->dir);
    pack_part_path(&path, part);
    result = rename(from, buf_text(&path)) < 0 ? err_sys(e, "rename") : 0;
    if (s->known != NULL)
        learn(s, part, list);
    buf_free(&path);
    free(from);
    return result < 0 ? -1 : object_(s, PACK_LIST, &part->list, list, e);
}

static bool known_(void *context, const struct digest *piece, struct pack_place *where)
{
    struct store *s = context;
    uint32_t i;

    if (s->known == NULL || !hash_table_find(s->known, piece, &i))
        return false;
    *where = s->places[i];
    return true;
}

static struct pack_sink sink_of(struct store *s)
{
    return (struct pack_sink){ .context = s,
                               .part_begin = part_begin_,
                               .part_write = part_write_,
                               .part_end = part_end_,
                               .object = object_,
                               .known = known_ };
}

/* ---- packing ---- */

struct walk {
    struct pack_writer *w;
    struct arena *arena;
    struct digest *remembered; /* of small files, in order, if the walk is to be repeated */
    size_t n, capacity;
    bool again;
};

static void add_file(struct walk *k, int dir, const char *name, const char *path,
                     const struct stat *st)
{
    struct err e = { 0 };
    struct pack_added added;
    bool program = (st->st_mode & S_IXUSR) != 0;
    int fd;

    if (k->again && st->st_size > 0 && st->st_size <= PACK_PIECE_BYTES) {
        added = (struct pack_added){ &k->remembered[k->n++], 1, (uint64_t)st->st_size };
        check(pack_add_unread(k->w, path, program, &added, &e) == 1 ? 0 : -1, &e);
        return;
    }
    fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    check(fd < 0 ? err_sys(&e, "%s", path) : 0, &e);
    check(pack_add_file(k->w, path, program, fd, &added, &e), &e);
    close(fd);
    if (added.n_pieces == 1) {
        mem_grow((void **)&k->remembered, &k->capacity, k->n, sizeof *k->remembered);
        k->remembered[k->n++] = added.pieces[0];
    }
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void walk(struct walk *k, int parent, const char *name, const char *path)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **names;
    int n = scandirat(fd, ".", &names, NULL, by_name);
    struct err e = { 0 };

    check(n < 0 ? err_sys(&e, "%s", path) : 0, &e);
    for (int i = 0; i < n; i++) {
        const char *child = names[i]->d_name;
        char *below = path_join(path, child);
        struct stat st;

        if (strcmp(child, ".") != 0 && strcmp(child, "..") != 0) {
            check(fstatat(fd, child, &st, AT_SYMLINK_NOFOLLOW) < 0 ? err_sys(&e, "%s", below) : 0,
                  &e);
            if (S_ISDIR(st.st_mode)) {
                check(pack_add_folder(k->w, below, &e), &e);
                walk(k, fd, child, below);
            } else if (S_ISREG(st.st_mode)) {
                add_file(k, fd, child, below, &st);
            }
        }
        free(below);
        free(names[i]);
    }
    free(names);
    close(fd);
}

static void make_folders(const char *dir)
{
    static const char *const names[] = { "parts", "blocks" };
    struct err e = { 0 };

    for (size_t i = 0; i < 2; i++) {
        char *path = path_join(dir, names[i]);

        check(io_make_dirs(path, 0755, &e), &e);
        free(path);
    }
}

static void pack(struct store *s, struct walk *k, const char *from, const char *what)
{
    struct pack_sink sink = sink_of(s);
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct pack_summary summary;
    struct err e = { 0 };
    char hex[DIGEST_HEX];

    k->w = pack_writer_create(&sink);
    k->n = 0;
    walk(k, AT_FDCWD, from, "");
    check(pack_end(k->w, &summary, &e), &e);
    pack_writer_destroy(k->w);
    digest_hex(&summary.id, hex);
    report(what, wall, cpu);
    fprintf(stderr,
            "    %" PRId64 " files, %" PRId64 " bytes; new %" PRId64 ", stored %" PRId64
            ", manifest %" PRId64 "\n",
            summary.totals.files, summary.totals.bytes, summary.new_bytes, summary.stored_bytes,
            summary.manifest_bytes);
    puts(hex);
}

static int pack_main(const char *from, const char *to, bool again)
{
    struct store s = { .dir = to, .arena = arena_create() };
    struct walk k = { 0 };

    make_folders(to);
    if (again)
        s.known = hash_table_create(SIZE_MAX);
    pack(&s, &k, from, "pack");
    k.again = true;
    if (again)
        pack(&s, &k, from, "pack again, unread");
    hash_table_destroy(s.known);
    free(s.places);
    free(k.remembered);
    arena_destroy(s.arena);
    return 0;
}

/* ---- unpacking ---- */

/* A file of one piece, or one piece of a larger file. */
struct goal {
    const char *path;
    uint64_t offset;
    uint32_t part, entry;
    bool program, whole;
};

struct unpack {
    const char *store;
    int to;
    struct arena *arena;
    struct pack_reader *reader;
    const struct pack_list **lists;
    struct goal *goals; /* sorted by part and entry */
    size_t n, capacity;
    size_t *begins; /* by part */
    size_t n_parts;
    atomic_size_t next_part;
};

static int fetch(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e)
{
    struct buf path = { 0 };
    int result;

    buf_printf(&path, "%s/", (const char *)context);
    pack_object_path(&path, kind, name);
    result = io_read_file(buf_text(&path), max_bytes, out, e);
    buf_free(&path);
    return result;
}

static void add_goals(struct unpack *u, const struct pack_entry *entry)
{
    const char *path = arena_strdup(u->arena, entry->path);
    uint64_t offset = 0;

    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];

        for (uint32_t k = 0; run->part != PACK_HOLE && k < run->n; k++) {
            mem_grow((void **)&u->goals, &u->capacity, u->n, sizeof *u->goals);
            u->goals[u->n++] = (struct goal){ path,
                                              offset + (uint64_t)k * PACK_PIECE_BYTES,
                                              run->part,
                                              run->first + k,
                                              entry->kind == PACK_PROGRAM,
                                              entry->n_runs == 1 && run->n == 1 };
        }
        offset += run->bytes;
    }
}

static int by_place(const void *x, const void *y)
{
    const struct goal *a = x, *b = y;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static void plan(struct unpack *u)
{
    struct pack_entry entry;
    struct err e = { 0 };
    int got;

    while ((got = pack_next(u->reader, &entry, &e)) == 1) {
        if (entry.kind == PACK_FOLDER)
            check(mkdirat(u->to, entry.path, 0755) < 0 ? err_sys(&e, "%s", entry.path) : 0, &e);
        add_goals(u, &entry);
    }
    check(got, &e);
    if (u->n > 1)
        qsort(u->goals, u->n, sizeof *u->goals, by_place);
    (void)pack_parts(u->reader, &u->n_parts);
    u->begins = mem_alloc((u->n_parts + 1) * sizeof *u->begins);
    u->lists = mem_alloc(u->n_parts * sizeof *u->lists);
    for (size_t part = 0, i = 0; part < u->n_parts; part++) {
        u->begins[part] = i;
        u->lists[part] = pack_list_of(u->reader, part, &e);
        check(u->lists[part] == NULL ? -1 : 0, &e);
        while (i < u->n && u->goals[i].part == part)
            i++;
        u->begins[part + 1] = i;
    }
}

static ssize_t read_fd(void *context, void *bytes, size_t n, struct err *e)
{
    ssize_t got = read(*(int *)context, bytes, n);

    return got < 0 ? err_sys(e, "read") : got;
}

/* The folder that the last file went to stays open. */
struct folder {
    char *path;
    int fd;
};

static int enter(struct unpack *u, struct folder *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;

    if (n == 0)
        return u->to;
    if (f->path == NULL || strlen(f->path) != n || memcmp(f->path, path, n) != 0) {
        if (f->path != NULL)
            close(f->fd);
        free(f->path);
        f->path = mem_strndup(path, n);
        f->fd = openat(u->to, f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    return f->fd;
}

static void make(struct unpack *u, struct folder *f, const struct goal *g, struct bytes content)
{
    int dir = enter(u, f, g->path);
    int fd = openat(dir, path_basename(g->path),
                    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (g->whole ? O_EXCL : 0),
                    g->program ? 0755 : 0644);
    struct err e = { 0 };

    if (fd < 0 || pwrite(fd, content.data, content.n, (off_t)g->offset) != (ssize_t)content.n)
        check(err_sys(&e, "%s", g->path), &e);
    close(fd);
}

static void unpack_part(struct unpack *u, struct part_reader *r, struct folder *f, size_t part)
{
    const struct pack_list *l = u->lists[part];
    size_t i = u->begins[part], end = u->begins[part + 1];
    struct buf path = { 0 };
    struct bytes content;
    struct err e = { 0 };
    int fd;

    buf_printf(&path, "%s/", u->store);
    pack_part_path(&path, &l->part);
    fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC);
    check(fd < 0 ? err_sys(&e, "%s", buf_text(&path)) : 0, &e);
    part_begin(r, l, read_fd, &fd);
    for (uint32_t entry = 0; entry < l->n; entry++) {
        bool wanted = i < end && u->goals[i].entry == entry;

        check(part_next(r, wanted ? &content : NULL, &e), &e);
        for (; i < end && u->goals[i].entry == entry; i++)
            make(u, f, &u->goals[i], content);
    }
    check(part_next(r, NULL, &e), &e);
    close(fd);
    buf_free(&path);
}

static void *unpack_thread(void *context)
{
    struct unpack *u = context;
    struct part_reader *r = part_reader_create();
    struct folder f = { 0 };
    size_t part;

    while ((part = atomic_fetch_add(&u->next_part, 1)) < u->n_parts)
        unpack_part(u, r, &f, part);
    if (f.path != NULL)
        close(f.fd);
    free(f.path);
    part_reader_destroy(r);
    return NULL;
}

static int unpack_main(const char *store, const char *id, const char *to, int n_threads)
{
    struct unpack u = { .store = store, .arena = arena_create() };
    struct pack_source source = { (void *)(uintptr_t)store, fetch };
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    pthread_t threads[64];
    struct digest name;
    struct err e = { 0 };

    check(io_make_dirs(to, 0755, &e), &e);
    u.to = io_open_dir(to, &e);
    check(digest_parse(id, &name), &e);
    u.reader = pack_open(&source, &name, &e);
    check(u.reader == NULL ? -1 : 0, &e);
    plan(&u);
    report("plan", wall, cpu);
    for (int i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, unpack_thread, &u);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    report("unpack", wall, cpu);
    pack_close(u.reader);
    free(u.goals);
    free(u.begins);
    free(u.lists);
    arena_destroy(u.arena);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "pack") == 0)
        return pack_main(argv[2], argv[3], false);
    if (argc == 4 && strcmp(argv[1], "again") == 0)
        return pack_main(argv[2], argv[3], true);
    if (argc == 6 && strcmp(argv[1], "unpack") == 0)
        return unpack_main(argv[2], argv[3], argv[4], atoi(argv[5]));
    fprintf(stderr,
            "usage: packs pack FROM STORE | again FROM STORE | unpack STORE ID TO THREADS\n");
    return 2;
}
