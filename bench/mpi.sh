#!/bin/bash
# Shows that ranks of mpirun give what one process gives, that a rank which is killed is made up for, and that a job
# which is killed is resumed. Needs kerf built with --features mpi: bench/mpi.sh [path of kerf] [ranks]
set -u
kerf=${1:-target/debug/kerf}
ranks=${2:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi="mpirun --oversubscribe -n $ranks"
search="$kerf hardround exp --from 1 --to 0x1.008p+0 --bits 38 --threads 1"
failed=0
say() { echo "$1"; [ "$2" = ok ] || failed=1; }
same() { if cmp -s "$dir/one.wc" "$1"; then echo ok; else echo DIFFERENT; fi; }
# Ranks run under a shell that writes its process's number, so that one can be killed.
cat > "$dir/rank.sh" <<'R'
#!/bin/bash
echo $$ > "$1/rank.$OMPI_COMM_WORLD_RANK"
shift
exec "$@"
R
chmod +x "$dir/rank.sh"

$search --out "$dir/one.wc" > /dev/null || exit 2
r=$(timeout 300 $mpi $search --out "$dir/all.wc" > "$dir/all.out" 2>&1; same "$dir/all.wc")
say "$ranks ranks against one process: $r" "$r"

(timeout 300 $mpi --enable-recovery "$dir/rank.sh" "$dir" $search --out "$dir/lost.wc" > "$dir/lost.out" 2>&1; echo $? > "$dir/lost.code") &
for _ in $(seq 200); do [ -s "$dir/lost.wc.cert" ] && [ "$(wc -l < "$dir/lost.wc.cert")" -gt 20 ] && break; sleep 0.1; done
kill -9 "$(cat "$dir/rank.1")" && echo "killed rank 1 with $(($(wc -l < "$dir/lost.wc.cert") - 1)) units done"
wait
r=$(same "$dir/lost.wc")
say "one of $ranks ranks killed, others go on: $r ($(grep -c 'process was lost' "$dir/lost.out") lost, mpirun's exit code $(cat "$dir/lost.code"))" "$r"

(timeout 300 $mpi "$dir/rank.sh" "$dir" $search --out "$dir/cut.wc" > "$dir/cut.out" 2>&1) &
for _ in $(seq 200); do [ -s "$dir/cut.wc.cert" ] && [ "$(wc -l < "$dir/cut.wc.cert")" -gt 20 ] && break; sleep 0.1; done
kill -9 "$(cat "$dir/rank.0")" && echo "killed rank 0 with $(($(wc -l < "$dir/cut.wc.cert") - 1)) units done"
wait
timeout 300 $mpi $search --out "$dir/cut.wc" --resume > /dev/null 2>&1
r=$(same "$dir/cut.wc")
say "rank 0 killed, resumed: $r" "$r"
exit $failed
