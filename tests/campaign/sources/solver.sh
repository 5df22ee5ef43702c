#!/bin/sh
# u = exp(-a t) cos(b t) on the grid, as a table; tells a log when it begins and when it is done.
# Usage: solver.sh A B STOP POINTS SLEEP
echo "begin $1 $2 $$" >> "$STARTS_LOG"
sleep "$5"
awk -v a="$1" -v b="$2" -v stop="$3" -v n="$4" 'BEGIN {
    print "t,u"
    for (i = 0; i < n; i++) {
        t = stop * i / (n - 1)
        printf "%.12g,%.17g\n", t, exp(-a * t) * cos(b * t)
    }
}' > out.csv
echo "end $1 $2 $$" >> "$STARTS_LOG"
