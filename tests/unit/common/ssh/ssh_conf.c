/* SPDX-License-Identifier: MIT */
/* ssh_conf.c - tests of what ssh's configuration says */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/ssh/ssh_conf.h"

static const struct endpoint to = { .kind = ENDPOINT_SSH, .host = "alias" };

static void parse(struct ssh_conf *c, const char *said)
{
    struct err e = { 0 };

    if (ssh_conf_parse(c, &to, said, &e) < 0)
        fail_msg("%s", e.text);
}

static const char *item(const struct list *list, size_t i)
{
    assert_in_range(i, 0, list->n - 1);
    return ((const char *const *)list->items)[i];
}

static void what_ssh_says_is_taken(void **state)
{
    static const char said[] = "host alias\n"
                               "user alice\n"
                               "hostname server.example\n"
                               "port 2222\n"
                               "addressfamily inet6\n"
                               "connecttimeout 7\n"
                               "serveraliveinterval 5\n"
                               "serveralivecountmax 2\n"
                               "identitiesonly yes\n"
                               "pubkeyauthentication true\n"
                               "passwordauthentication no\n"
                               "kbdinteractiveauthentication no\n"
                               "gssapiauthentication yes\n"
                               "hostkeyalias the-one\n"
                               "identityfile ~/.ssh/%r@%h\n"
                               "identityfile /etc/keys/%n-%p-%%\n"
                               "identityagent none\n"
                               "userknownhostsfile /a /b\n"
                               "globalknownhostsfile /c none\n"
                               "some noise on standard error\n";
    struct ssh_conf c;

    (void)state;
    setenv("HOME", "/home/of/tests", 1);
    parse(&c, said);
    assert_string_equal(c.alias, "alias");
    assert_string_equal(c.host, "server.example");
    assert_string_equal(c.user, "alice");
    assert_int_equal(c.port, 2222);
    assert_int_equal(c.family, AF_INET6);
    assert_int_equal(c.connect_ms, 7000);
    assert_int_equal(c.silence_ms, 5000);
    assert_int_equal(c.n_questions, 2);
    assert_true(c.identities_only);
    assert_true(c.may_use_keys);
    assert_true(c.may_use_gssapi);
    assert_false(c.may_use_password);
    assert_false(c.may_use_kbdint);
    assert_string_equal(c.known_as, "the-one");
    assert_int_equal(c.identities.n, 2);
    assert_string_equal(item(&c.identities, 0), "/home/of/tests/.ssh/alice@server.example");
    assert_string_equal(item(&c.identities, 1), "/etc/keys/alias-2222-%");
    assert_int_equal(c.known_hosts.n, 3);
    assert_string_equal(item(&c.known_hosts, 2), "/c");
    assert_null(c.agent);
    assert_null(c.proxy_command);
    ssh_conf_free(&c);
}

static void the_agent_is_found_as_ssh_finds_it(void **state)
{
    static const struct {
        const char *said, *variable;
        const char *agent;
    } cases[] = {
        { "", "/run/agent", "/run/agent" },
        { "", NULL, NULL },
        { "", "", NULL },
        { "identityagent SSH_AUTH_SOCK\n", "/run/agent", "/run/agent" },
        { "identityagent none\n", "/run/agent", NULL },
        { "identityagent ~/agent\n", "/run/agent", "/home/of/tests/agent" },
        { "identityagent $OTHER_AGENT\n", "/run/agent", "/run/other" },
    };

    (void)state;
    setenv("HOME", "/home/of/tests", 1);
    setenv("OTHER_AGENT", "/run/other", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ssh_conf c;

        unsetenv("SSH_AUTH_SOCK");
        if (cases[i].variable != NULL)
            setenv("SSH_AUTH_SOCK", cases[i].variable, 1);
        parse(&c, cases[i].said);
        if (cases[i].agent == NULL)
            assert_null(c.agent);
        else
            assert_string_equal(c.agent, cases[i].agent);
        ssh_conf_free(&c);
    }
    unsetenv("SSH_AUTH_SOCK");
}

static void proxies_become_one_command(void **state)
{
    static const struct {
        const char *said;
        const char *command; /* behind "ssh", and what -F may say */
    } cases[] = {
        { "proxycommand nc %h %p # %%\n", "nc inner 22 # %" },
        { "proxycommand none\n", NULL },
        { "proxyjump none\n", NULL },
        { "proxyjump gate\n", " -W '[inner]:22' -- 'gate'" },
        { "proxyjump me@gate:2222\n", " -l 'me' -p '2222' -W '[inner]:22' -- 'gate'" },
        { "proxyjump a,b@c,d\n", " -J 'a,b@c' -W '[inner]:22' -- 'd'" },
        { "proxyjump ssh://me@gate:2222\n", " -l 'me' -p '2222' -W '[inner]:22' -- 'gate'" },
        { "proxyjump [::1]:2222\n", " -p '2222' -W '[inner]:22' -- '::1'" },
        { "proxyjump [::1]\n", " -W '[inner]:22' -- '::1'" },
        { "proxycommand x\nproxyjump gate\n", "x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *said = mem_printf("hostname inner\n%s", cases[i].said);
        struct ssh_conf c;

        parse(&c, said);
        if (cases[i].command == NULL)
            assert_null(c.proxy_command);
        else if (cases[i].command[0] == ' ')
            assert_non_null(strstr(c.proxy_command, cases[i].command));
        else
            assert_string_equal(c.proxy_command, cases[i].command);
        ssh_conf_free(&c);
        free(said);
    }
}

static void a_jump_that_would_be_a_command_is_refused(void **state)
{
    static const char *const jumps[] = { "proxyjump $(id)\n", "proxyjump -oProxyCommand=x\n",
                                         "proxyjump a'b\n", "proxyjump a;b\n" };

    (void)state;
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        struct ssh_conf c;
        struct err e = { 0 };

        assert_int_equal(ssh_conf_parse(&c, &to, jumps[i], &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
    }
}

static void names_in_known_hosts_have_their_port(void **state)
{
    char *plain = ssh_conf_host_port("host", 22), *other = ssh_conf_host_port("::1", 2222);

    (void)state;
    assert_string_equal(plain, "host");
    assert_string_equal(other, "[::1]:2222");
    free(plain);
    free(other);
}

static void where_an_accepted_key_is_kept(void **state)
{
    static const struct {
        const char *said, *kept_in;
    } cases[] = {
        { "userknownhostsfile ~/.ssh/known_hosts ~/.ssh/known_hosts2\n",
          "/home/of/tests/.ssh/known_hosts" },
        { "userknownhostsfile /dev/null\n", NULL },
        { "userknownhostsfile /dev/null /a\n", NULL },
        { "userknownhostsfile none\nglobalknownhostsfile /c\n", NULL },
        { "globalknownhostsfile /c\n", NULL },
    };

    (void)state;
    setenv("HOME", "/home/of/tests", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ssh_conf c;

        parse(&c, cases[i].said);
        if (cases[i].kept_in == NULL)
            assert_null(c.kept_in);
        else
            assert_string_equal(c.kept_in, cases[i].kept_in);
        ssh_conf_free(&c);
    }
}

/* What is called "ssh" there does this. */
static char *make_ssh(const char *script)
{
    char *dir = mem_strdup("/tmp/lw.XXXXXX"), *path;
    int fd;

    assert_non_null(mkdtemp(dir));
    path = mem_printf("%s/ssh", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, script, strlen(script)), strlen(script));
    close(fd);
    free(path);
    path = mem_printf("%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    return dir;
}

static void remove_ssh(char *dir, const char *path_was)
{
    char *path = mem_printf("%s/ssh", dir);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    setenv("PATH", path_was, 1);
    free(path);
    free(dir);
}

static void ssh_is_not_waited_for_for_ever(void **state)
{
    static const struct {
        const char *script, *error; /* NULL: all is well */
    } cases[] = {
        { "#!/bin/sh\necho port 7\n", NULL },
        { "#!/bin/sh\necho no good >&2\nexit 255\n", "no good" },
        { "#!/bin/sh\necho port 7\nexec sleep 30\n", "within 0.5 s" },
        { "#!/bin/sh\ntrap '' TERM\nsleep 20 &\nexit\n", "within 0.5 s" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *was = mem_strdup(getenv("PATH")), *dir = make_ssh(cases[i].script);
        int64_t max_ms = cases[i].error == NULL || i == 1 ? 20000 : 500;
        struct ssh_conf c;
        struct err e = { 0 };

        if (ssh_conf_read(&c, &to, max_ms, &e) == 0) {
            assert_null(cases[i].error);
            assert_int_equal(c.port, 7);
            ssh_conf_free(&c);
        } else {
            assert_non_null(cases[i].error);
            assert_non_null(strstr(e.text, cases[i].error != NULL ? cases[i].error : ""));
        }
        remove_ssh(dir, was);
        free(was);
    }
}

static void a_key_made_for_the_server_is_the_only_one(void **state)
{
    static const struct endpoint own = {
        .kind = ENDPOINT_SSH, .host = "login1", .user = "alice", .port = 2222, .keys = "/k"
    };
    char *was = mem_strdup(getenv("PATH")), *dir = make_ssh("#!/bin/sh\nexit 255\n");
    struct ssh_conf c;

    (void)state;
    setenv("SSH_AUTH_SOCK", "/a", 1);
    assert_int_equal(ssh_conf_read(&c, &own, 20000, NULL), 0);
    unsetenv("SSH_AUTH_SOCK");
    remove_ssh(dir, was);
    free(was);
    assert_string_equal(c.host, "login1");
    assert_string_equal(c.user, "alice");
    assert_int_equal(c.port, 2222);
    assert_string_equal(c.known_as, ENDPOINT_KNOWN_AS);
    assert_null(c.agent);
    assert_int_equal(c.identities.n, 1);
    assert_string_equal(item(&c.identities, 0), "/k/key");
    assert_int_equal(c.known_hosts.n, 1);
    assert_string_equal(item(&c.known_hosts, 0), "/k/known_hosts");
    assert_true(c.may_use_keys && c.identities_only);
    assert_false(c.may_use_kbdint || c.may_use_password || c.may_use_gssapi);
    ssh_conf_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ssh_says_is_taken),
        cmocka_unit_test(the_agent_is_found_as_ssh_finds_it),
        cmocka_unit_test(proxies_become_one_command),
        cmocka_unit_test(a_jump_that_would_be_a_command_is_refused),
        cmocka_unit_test(where_an_accepted_key_is_kept),
        cmocka_unit_test(ssh_is_not_waited_for_for_ever),
        cmocka_unit_test(a_key_made_for_the_server_is_the_only_one),
        cmocka_unit_test(names_in_known_hosts_have_their_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
