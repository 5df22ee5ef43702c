/* A driven oscillator as an FMU (FMI 2.0, co-simulation and model exchange):

   x'' + c x' + k x = f(t),    x(0) = x'(0) = 0

   A co-simulation holds f during one step of communication. "fault" makes it fail. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fmi2FunctionTypes.h"

enum { C, K, FAULT, F, X, V, DX, DV, COUNT };
typedef struct { double value[COUNT]; const fmi2CallbackFunctions *back; } Model;

static void slopes(Model *m, double x, double v, double *dx, double *dv) {
    *dx = v;
    *dv = m->value[F] - m->value[C] * v - m->value[K] * x;
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) { return fmi2OK; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
                              const fmi2CallbackFunctions *back, fmi2Boolean seen, fmi2Boolean log) {
    Model *m = calloc(1, sizeof *m);
    m->value[C] = 0.1; m->value[K] = 1.0; m->back = back;
    return m;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real d, fmi2Boolean e, fmi2Real f) { return fmi2OK; }
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { return fmi2OK; }

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference which[], size_t count, fmi2Real value[]) {
    Model *m = c;
    slopes(m, m->value[X], m->value[V], &m->value[DX], &m->value[DV]);
    for (size_t k = 0; k < count; k++) value[k] = m->value[which[k]];
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference which[], size_t count, const fmi2Real value[]) {
    for (size_t k = 0; k < count; k++) ((Model *)c)->value[which[k]] = value[k];
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean keep) {
    Model *m = c;
    int fault = (int)m->value[FAULT];
    if (fault == 1) abort();
    if (fault == 2) for (;;) sleep(1);
    if (fault == 3) m->value[X] = NAN;
    if (fault == 4) return fmi2Error;
    int count = (int)ceil(step / 1e-3);
    double h = step / count;
    for (int k = 0; k < count; k++) {
        double x = m->value[X], v = m->value[V], a, b, a2, b2, a3, b3, a4, b4;
        slopes(m, x, v, &a, &b);
        slopes(m, x + h / 2 * a, v + h / 2 * b, &a2, &b2);
        slopes(m, x + h / 2 * a2, v + h / 2 * b2, &a3, &b3);
        slopes(m, x + h * a3, v + h * b3, &a4, &b4);
        m->value[X] = x + h / 6 * (a + 2 * a2 + 2 * a3 + a4);
        m->value[V] = v + h / 6 * (b + 2 * b2 + 2 * b3 + b4);
    }
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) { return fmi2OK; }
fmi2Status fmi2EnterEventMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    memset(info, 0, sizeof *info);
    return fmi2OK;
}
fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean keep, fmi2Boolean *enter, fmi2Boolean *stop) {
    *enter = *stop = fmi2False;
    return fmi2OK;
}
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n) {
    ((Model *)c)->value[X] = x[0]; ((Model *)c)->value[V] = x[1];
    return fmi2OK;
}
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    x[0] = ((Model *)c)->value[X]; x[1] = ((Model *)c)->value[V];
    return fmi2OK;
}
fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    x[0] = x[1] = 1.0;
    return fmi2OK;
}
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real slope[], size_t n) {
    slopes(c, ((Model *)c)->value[X], ((Model *)c)->value[V], &slope[0], &slope[1]);
    return fmi2OK;
}
fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n) { return fmi2OK; }

/* What this model does not offer; importers look for the names all the same. */
#define NOT_OFFERED(name) fmi2Status name(void) { return fmi2Error; }
NOT_OFFERED(fmi2CancelStep)
NOT_OFFERED(fmi2DeSerializeFMUstate)
NOT_OFFERED(fmi2FreeFMUstate)
NOT_OFFERED(fmi2GetBoolean)
NOT_OFFERED(fmi2GetBooleanStatus)
NOT_OFFERED(fmi2GetDirectionalDerivative)
NOT_OFFERED(fmi2GetFMUstate)
NOT_OFFERED(fmi2GetInteger)
NOT_OFFERED(fmi2GetIntegerStatus)
NOT_OFFERED(fmi2GetRealOutputDerivatives)
NOT_OFFERED(fmi2GetRealStatus)
NOT_OFFERED(fmi2GetStatus)
NOT_OFFERED(fmi2GetString)
NOT_OFFERED(fmi2GetStringStatus)
NOT_OFFERED(fmi2SerializeFMUstate)
NOT_OFFERED(fmi2SerializedFMUstateSize)
NOT_OFFERED(fmi2SetBoolean)
NOT_OFFERED(fmi2SetFMUstate)
NOT_OFFERED(fmi2SetInteger)
NOT_OFFERED(fmi2SetRealInputDerivatives)
NOT_OFFERED(fmi2SetString)
