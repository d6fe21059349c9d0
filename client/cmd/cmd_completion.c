/* SPDX-License-Identifier: MIT */
/* cmd_completion.c - ludwig completion */
#include <string.h>

#include "client/term/command.h"
#include "client/term/output.h"

/* Without compgen -W, which expands its words. */
static const char bash_script[] =
    "# bash completion of ludwig, made by `ludwig completion bash`\n"
    "_ludwig() {\n"
    "    local line word=${COMP_WORDS[COMP_CWORD]#=}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        case $line in\n"
    "        :files) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "        :folders) mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "        :yaml) mapfile -t COMPREPLY < <(compgen -d -- \"$word\"; compgen -f -X '!*.y*ml' -- \"$word\") ;;\n"
    "        \"$word\"*) COMPREPLY+=(\"$line\") ;;\n"
    "        esac\n"
    "        case $line in\n"
    "        :*) compopt -o filenames ;;\n"
    "        *.) compopt -o nospace ;;\n"
    "        esac\n"
    "    done < <(command ludwig complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _ludwig ludwig\n";

/* _describe quotes what it inserts. */
static const char zsh_script[] =
    "#compdef ludwig\n"
    "# zsh completion of ludwig, made by `ludwig completion zsh`\n"
    "_ludwig() {\n"
    "    local line tab=$'\\t'\n"
    "    local -a whole open\n"
    "    for line in ${(f)\"$(command ludwig complete -- \"${(@Q)words[2,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)\"}; do\n"
    "        case $line in\n"
    "        :files) compset -P '--*='; _files ;;\n"
    "        :folders) compset -P '--*='; _files -/ ;;\n"
    "        :yaml) compset -P '--*='; _files -g '*.(yaml|yml)' ;;\n"
    "        *.) open+=($line) ;;\n"
    "        *) whole+=(${line/$tab/:}) ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#open )) && compadd -V sweeps -S '' -a open\n"
    "    (( $#whole )) && _describe -V ludwig whole\n"
    "}\n"
    "if [[ $funcstack[1] == _ludwig ]]; then _ludwig \"$@\"; else compdef _ludwig ludwig; fi\n";

/* fish escapes what it inserts. */
static const char fish_script[] =
    "# fish completion of ludwig, made by `ludwig completion fish`\n"
    "function __ludwig_complete\n"
    "    set -l word (commandline -ct)\n"
    "    set -l option (string match -r '^--[a-z0-9-]*=' -- $word; or echo '')\n"
    "    set -l path (string replace -- \"$option\" '' $word)\n"
    "    for line in (command ludwig complete -- (commandline -opc)[2..] \"$word\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                string join \\n -- $option(__fish_complete_path $path)\n"
    "            case :folders\n"
    "                string join \\n -- $option(__fish_complete_directories $path)\n"
    "            case :yaml\n"
    "                set -l files $path*.yaml $path*.yml $path*/\n"
    "                string join \\n -- $option$files\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c ludwig -e\n"
    "complete -c ludwig -f -k -a '(__ludwig_complete)'\n";

static const struct {
    const char *shell, *script;
} scripts[] = { { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };

static int print_script(struct cli *cli, struct err *e)
{
    const char *shell = cli->args.words[0];
    struct buf out = { 0 };

    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcmp(scripts[i].shell, shell) == 0)
            buf_add_str(&out, scripts[i].script);
    if (out.n == 0)
        return err_set(e, ERR_USAGE, "there is no script for '%s': bash, zsh or fish", shell);
    return output_write(&out, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a completion script for your shell",
    .more = "SHELL is bash, zsh or fish. Commands, options and their values are completed,\n"
            "and the sweeps, jobs and nodes there are. In ~/.bashrc, in ~/.zshrc behind\n"
            "compinit, and in ~/.config/fish/config.fish:\n"
            "\n"
            "  source <(ludwig completion bash)\n"
            "  source <(ludwig completion zsh)\n"
            "  ludwig completion fish | source\n",
    .min_args = 1,
    .max_args = 1,
    .run = print_script,
};
