/* A damped oscillator let go at 1, as a stand-in for somebody's own solver:

   oscillator DECK FORMAT FAULT    reads "key value" lines, leaves out.FORMAT

   It can fail in the ways real solvers do. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double stiffness, damping, start, stop;
static int points;

static double displacement(double t) {
    double half = damping / 2, w = sqrt(stiffness - half * half);
    return exp(-half * t) * (cos(w * t) + half / w * sin(w * t));
}

static void read_deck(const char *name) {
    char key[64];
    double value;
    FILE *deck = fopen(name, "r");
    if (!deck) exit(9);
    while (fscanf(deck, "%63s %lf", key, &value) == 2) {
        if (!strcmp(key, "stiffness")) stiffness = value;
        if (!strcmp(key, "damping")) damping = value;
        if (!strcmp(key, "start")) start = value;
        if (!strcmp(key, "stop")) stop = value;
        if (!strcmp(key, "points")) points = (int)value;
    }
    fclose(deck);
}

static void write_npy(FILE *out, const double *u, int count) {
    char header[119];
    memset(header, ' ', 118);
    header[117] = '\n';
    int used = sprintf(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", count);
    header[used] = ' ';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    fwrite(header, 1, 118, out);
    fwrite(u, sizeof(double), count, out);
}

static void have_children(void) {
    if (fork() == 0) {
        if (fork() == 0) setsid();
        char name[64];
        sprintf(name, "%s/%d", getenv("PIDS"), (int)getpid());
        fclose(fopen(name, "w"));
        for (;;) pause();
    }
    for (;;) pause();
}

int main(int words, char **word) {
    if (words != 4) return 8;
    const char *format = word[2], *fault = word[3];
    read_deck(word[1]);
    printf("reading %s\n", word[1]);
    fflush(stdout);
    if (!strcmp(fault, "exit")) { fprintf(stderr, "no convergence in step 7\n"); return 3; }
    if (!strcmp(fault, "signal")) raise(SIGSEGV);
    if (!strcmp(fault, "hang")) have_children();
    if (!strcmp(fault, "silent")) return 0;
    int count = strcmp(fault, "short") ? points : points - 1;
    double step = (stop - start) / (points - (strcmp(fault, "grid") ? 1 : 0));
    double *t = malloc(count * sizeof *t), *u = malloc(count * sizeof *u);
    for (int k = 0; k < count; k++) { t[k] = start + k * step; u[k] = displacement(t[k]); }
    if (!strcmp(fault, "nan")) u[5] = NAN;
    if (!strcmp(fault, "inf")) u[5] = -INFINITY;
    char name[32];
    sprintf(name, "out.%s", format);
    FILE *out = fopen(name, "w");
    if (!strcmp(format, "npy")) write_npy(out, u, count);
    if (!strcmp(format, "csv")) fprintf(out, "t,\"u\",v\n");
    if (!strcmp(format, "dat")) fprintf(out, "# t u\n\n");
    if (!strcmp(format, "json")) fprintf(out, "{\"result\": [{\"t\": [");
    for (int k = 0; k < count; k++) {
        if (!strcmp(format, "csv")) fprintf(out, "%.17g,%.17g,0\n", t[k], u[k]);
        if (!strcmp(format, "dat")) fprintf(out, "  %.17E   %.17g\n", t[k], u[k]);
        if (!strcmp(format, "json")) fprintf(out, "%s%.17g", k ? ", " : "", t[k]);
        if (!strcmp(fault, "torn") && k == count / 2) { fprintf(out, "0.1,0."); fflush(out); abort(); }
    }
    if (!strcmp(format, "json")) {
        fprintf(out, "], \"u\": [");
        for (int k = 0; k < count; k++) fprintf(out, "%s%.17g", k ? ", " : "", u[k]);
        fprintf(out, "]}]}\n");
    }
    fclose(out);
    return 0;
}
