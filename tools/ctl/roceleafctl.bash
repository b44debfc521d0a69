# SPDX-License-Identifier: BSD-3-Clause
# Completion of roceleafctl for bash: commands, tables, options, names of ports.

_roceleafctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command="" table="" dir="" i words

    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --runtime-dir) dir=${COMP_WORDS[++i]} ;;
        --count) ((i++)) ;;
        -*) ;;
        *)
            if [ -z "$command" ]; then
                command=${COMP_WORDS[i]}
            elif [ -z "$table" ]; then
                table=${COMP_WORDS[i]}
            fi
            ;;
        esac
    done

    case $before in
    --runtime-dir)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --count | --for | --every | --last | --priority | --filter | --packets | --snap) return ;;
    --trigger)
        mapfile -t COMPREPLY < <(compgen -W xoff -- "$word")
        return
        ;;
    --csv)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac

    if [[ $word == -* ]]; then
        words="--help --runtime-dir --version"
        [ "$command" = show ] && words="$words --json --watch --count --follow --all --absolute"
        [ "$command" = why ] && words="$words --json --next"
        [ "$command" = capture ] && words="--filter --packets --for --snap --runtime-dir --help"
        [ "$command" = record ] &&
            words="--for --every --trigger --last --port --priority --csv --json --runtime-dir --help"
    elif [ -z "$command" ]; then
        words="show reload check clear clear-peaks mark record capture why"
    elif [ "$command" = show ] && [ -z "$table" ]; then
        words="ports queues buffers peaks pfc ecn classes balance flows fdb routes neighbours interfaces drops workers marks events info"
    elif [ "$command" = capture ] && [ -n "$table" ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    elif [ "$command" = show ] || [ "$command" = capture ] || [ "$before" = --port ]; then
        # The first column of the table is the port's name.
        words=$(roceleafctl ${dir:+--runtime-dir "$dir"} show ports 2>/dev/null |
            while read -r name _; do echo "$name"; done | tail -n +2)
    elif [ "$command" = check ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -o nosort -F _roceleafctl roceleafctl
