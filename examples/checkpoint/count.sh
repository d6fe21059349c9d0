#!/bin/sh
# count.sh N SECONDS SAVE_EVERY: counts to N, and goes on where it was when its place was taken away
set -eu
n=$1 seconds=$2 save_every=$3
checkpoint=$LUDWIG_CHECKPOINT/state

# Under another name first: whoever copies it, or comes after a crash, finds a whole one.
save() {
    echo "$step $sum" >"$checkpoint.new"
    sync "$checkpoint.new"
    mv "$checkpoint.new" "$checkpoint"
}

# checkpoint: names the first; the second is all the warning that some partitions give.
asked=
trap 'asked=1' USR1 TERM

step=0 sum=0
[ ! -e "$checkpoint" ] || read -r step sum <"$checkpoint"
echo "from $step"
while [ "$step" -lt "$n" ]; do
    # A signal that is for all processes of the job ends this one, too.
    sleep "$seconds" || true
    step=$((step + 1))
    sum=$((sum + step))
    echo "step $step"
    if [ -n "$asked" ]; then
        save
        exit 75 # any code but 0: what ends well is done, and does not go on
    fi
    [ $((step % save_every)) != 0 ] || save
done
echo "$sum" >"$LUDWIG_SAVE_PATH/sum"
