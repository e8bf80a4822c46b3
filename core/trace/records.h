/*
 * The one table of the trace format: record types, kinds of units, states of units. Writer, reader,
 * exporter, checker, `perfci trace schema` and docs/reference/trace.md are made from it.
 *
 * Numbers are stable forever: a row is only added, at the end, under a number never used before. A
 * changed meaning of a field is a new row. A new row raises PFC_TRACE_MINOR, a changed layout of
 * the file raises PFC_TRACE_MAJOR.
 */
#ifndef PFC_CORE_TRACE_RECORDS_H
#define PFC_CORE_TRACE_RECORDS_H

#include <stdint.h>

#define PFC_TRACE_MAJOR 1
#define PFC_TRACE_MINOR 1

/** Effect of a record on its unit's line of time. */
typedef enum pfc_trace_phase {
    PFC_TRACE_BEGIN,    /* begins a slice, which a record of the type `partner` ends */
    PFC_TRACE_END,      /* ends the slice that a record of the type `partner` began */
    PFC_TRACE_COMPLETE, /* a whole slice: `ticks` is its begin, field b its duration in ticks */
    PFC_TRACE_WAIT,     /* begins a wait for a semaphore, which a signal ends */
    PFC_TRACE_SIGNAL,   /* ends the waits for a semaphore up to a value */
    PFC_TRACE_INSTANT,  /* a point */
    PFC_TRACE_COUNTER,  /* a value from now on */
    PFC_TRACE_DETAIL    /* a fact about a command or a definition; no line of time changes */
} pfc_trace_phase;

/** Which units may write a record: those of the kind `host`, all others, or both. */
typedef enum pfc_trace_side {
    PFC_TRACE_SIDE_HOST,
    PFC_TRACE_SIDE_DEVICE,
    PFC_TRACE_SIDE_ANY
} pfc_trace_side;

/** Meaning of a field; everything but NUMBER is checked against the header. */
typedef enum pfc_trace_field {
    PFC_TRACE_UNUSED,  /* 0 */
    PFC_TRACE_NUMBER,  /* any */
    PFC_TRACE_NAME,    /* 0: no name; n: names[n - 1] of the header */
    PFC_TRACE_UNIT_ID, /* id of a unit of the header */
    PFC_TRACE_SERIES,  /* counters[n] of the header */
    PFC_TRACE_CLOCK,   /* clocks[n] of the header */
    PFC_TRACE_STATE    /* number of PFC_TRACE_STATES */
} pfc_trace_field;

/*
 * number, identifier, name, phase, side, category, partner,
 * kind of a, name of a, unit of a, kind of b, name of b, unit of b, meaning
 *
 * In slices of overlapping units, begin and end are paired by unit, correlation id and field a, so
 * an end repeats the a of its begin.
 */
#define PFC_TRACE_RECORDS(X)                                                                       \
    X(1, API_ENTER, "api_enter", BEGIN, HOST, "runtime", API_EXIT, NAME, "call", "name", NUMBER,   \
      "argument", "", "The host enters a call of the driver's interface.")                         \
    X(2, API_EXIT, "api_exit", END, HOST, "runtime", API_ENTER, NAME, "call", "name", NUMBER,      \
      "status", "", "The call returns; status 0 is success.")                                      \
    X(3, SUBMIT, "submit", INSTANT, HOST, "driver", NONE, UNIT_ID, "queue", "unit", NUMBER,        \
      "command", "", "The host puts a command into a queue. Its correlation id begins a flow.")    \
    X(4, DOORBELL, "doorbell", INSTANT, HOST, "driver", NONE, UNIT_ID, "queue", "unit", NUMBER,    \
      "tail", "", "The host tells the device that the queue has grown to this tail.")              \
    X(5, FETCH, "fetch", COMPLETE, DEVICE, "queue", NONE, NUMBER, "command", "", NUMBER,           \
      "duration", "ticks", "The device reads a command from a queue.")                             \
    X(6, SEM_WAIT, "sem_wait", WAIT, ANY, "sync", SEM_SIGNAL, NUMBER, "semaphore", "", NUMBER,     \
      "value", "", "A unit begins to wait until the semaphore reaches the value.")                 \
    X(7, SEM_SIGNAL, "sem_signal", SIGNAL, ANY, "sync", SEM_WAIT, NUMBER, "semaphore", "", NUMBER, \
      "value", "", "A unit sets the semaphore to the value; waits for it or less end.")            \
    X(8, DMA_ISSUE, "dma_issue", BEGIN, DEVICE, "dma", DMA_DONE, NUMBER, "descriptor", "", NUMBER, \
      "size", "bytes", "A transfer begins.")                                                       \
    X(9, DMA_DONE, "dma_done", END, DEVICE, "dma", DMA_ISSUE, NUMBER, "descriptor", "", NUMBER,    \
      "size", "bytes", "The transfer's last byte has arrived.")                                    \
    X(10, TILE_BEGIN, "tile_begin", BEGIN, DEVICE, "tile", TILE_END, NUMBER, "fold", "", NUMBER,   \
      "origin", "m0 + n0 * 2^21 + k0 * 2^42", "A unit begins to compute a tile.")                  \
    X(11, TILE_END, "tile_end", END, DEVICE, "tile", TILE_BEGIN, NUMBER, "fold", "", NUMBER,       \
      "work", "multiply-adds", "The tile is computed.")                                            \
    X(12, KERNEL_BEGIN, "kernel_begin", BEGIN, DEVICE, "kernel", KERNEL_END, NAME, "kernel",       \
      "name", NUMBER, "launch", "", "The device begins a kernel. It ends the flow of its id.")     \
    X(13, KERNEL_END, "kernel_end", END, DEVICE, "kernel", KERNEL_BEGIN, NAME, "kernel", "name",   \
      NUMBER, "status", "", "The kernel is done; status 0 is success.")                            \
    X(14, IRQ, "irq", INSTANT, DEVICE, "driver", NONE, NUMBER, "vector", "", NUMBER, "value", "",  \
      "The device raises an interrupt.")                                                           \
    X(15, IRQ_HANDLED, "irq_handled", INSTANT, HOST, "driver", NONE, NUMBER, "vector", "", NUMBER, \
      "value", "", "The host has handled the interrupt.")                                          \
    X(16, COUNTER_SAMPLE, "counter_sample", COUNTER, ANY, "counter", NONE, SERIES, "counter",      \
      "counter", NUMBER, "value", "the counter's",                                                 \
      "Value of a counter of the header from now on.")                                             \
    X(17, UNIT_STATE, "unit_state", COUNTER, DEVICE, "counter", NONE, STATE, "state", "state",     \
      NUMBER, "detail", "",                                                                        \
      "The unit is in this state from now on; the detail is for example the semaphore.")           \
    X(18, CLOCK_PAIR, "clock_pair", INSTANT, DEVICE, "clock", NONE, NUMBER, "host_before",         \
      "host ticks", NUMBER, "host_after", "host ticks",                                            \
      "The host read its clock, the device's clock (ticks of this record), and its clock again.")  \
    X(19, FREQ_CHANGE, "freq_change", COUNTER, DEVICE, "clock", NONE, CLOCK, "clock", "clock",     \
      NUMBER, "frequency", "Hz", "A clock domain has this frequency from now on.")                 \
    X(20, THROTTLE, "throttle", COUNTER, DEVICE, "throttle", NONE, NUMBER, "k", "", NUMBER, "n",   \
      "", "The unit may be active in k of n ticks from now on; k = n: no limit.")                  \
    X(21, FAULT, "fault", INSTANT, ANY, "fault", NONE, NAME, "fault", "name", NUMBER, "detail",    \
      "", "A fault: an error that was corrected or not, a hang, a trip.")                          \
    X(22, MARKER, "marker", INSTANT, ANY, "marker", NONE, NAME, "marker", "name", NUMBER, "value", \
      "", "A point that the program named.")                                                       \
    X(23, ALLOC, "alloc", INSTANT, HOST, "memory", NONE, NUMBER, "address", "", NUMBER, "size",    \
      "bytes", "The host allocates device memory.")                                                \
    X(24, FREE, "free", INSTANT, HOST, "memory", NONE, NUMBER, "address", "", NUMBER, "size",      \
      "bytes", "The host frees device memory.")                                                    \
    X(25, DROP, "drop", INSTANT, ANY, "drop", NONE, NUMBER, "records", "", UNUSED, "", "",         \
      "This many records of the unit were lost before this one.")                                  \
    X(26, STATE_SAMPLE, "state_sample", COUNTER, DEVICE, "counter", NONE, STATE, "state", "state", \
      NUMBER, "duration", "ticks",                                                                 \
      "The unit was in this state for so many ticks after its previous sample.")                   \
    X(27, PHASE, "phase", DETAIL, DEVICE, "plan", NONE, NUMBER, "phase", "", NAME, "text", "name", \
      "Defines a phase: the commands of one operation on one operand. Numbers begin at 1.")        \
    X(28, LINE, "line", DETAIL, DEVICE, "plan", NONE, NUMBER, "line", "", NAME, "text", "name",    \
      "Defines a line of the schedule or of the assembly text. Numbers begin at 1.")               \
    X(29, COMMAND, "command", DETAIL, DEVICE, "plan", NONE, NUMBER, "command", "", NUMBER,         \
      "place", "phase + line * 2^32",                                                              \
      "The unit takes this command next; 0 for a phase or line that is not known.")                \
    X(30, COST_STREAM, "cost_stream", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER, \
      "duration", "ticks", "Rows stream through a matrix unit, or elements through vector lanes.") \
    X(31, COST_WEIGHTS, "cost_weights", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "",       \
      NUMBER, "duration", "ticks", "The unit waits between folds until weights are loaded.")       \
    X(32, COST_WEIGHTS_HIDDEN, "cost_weights_hidden", DETAIL, DEVICE, "cost", NONE, NUMBER,        \
      "command", "", NUMBER, "duration", "ticks", "Weights load while rows stream.")               \
    X(33, COST_PRELOAD, "cost_preload", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "",       \
      NUMBER, "duration", "ticks",                                                                 \
      "The first fold's weights load; takes time only if the unit was idle before the command.")   \
    X(34, COST_FILL, "cost_fill", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER,     \
      "duration", "ticks", "The unit fills and drains between folds.")                             \
    X(35, COST_DEPTH, "cost_depth", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER,   \
      "duration", "ticks", "From the last operand's entry into the unit to the last result.")      \
    X(36, COST_REDUCE, "cost_reduce", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER, \
      "duration", "ticks", "Reduction trees, whatever the number of elements.")                    \
    X(37, COST_BANK, "cost_bank", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER,     \
      "duration", "ticks", "The unit waits for banks of the scratchpad that transfers use.")       \
    X(38, FOLDS, "folds", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER, "count",    \
      "", "So many folds of weights pass through the unit; the costs are sums over them.")         \
    X(39, BANKS, "banks", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER, "mask", "", \
      "Bit i: the command uses bank i of the scratchpad.")                                         \
    X(40, COST_DMA_SETUP, "cost_dma_setup", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "",   \
      NUMBER, "duration", "ticks", "The engine works on the descriptor before the first byte.")    \
    X(41, COST_DMA_RATE, "cost_dma_rate", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "",     \
      NUMBER, "duration", "ticks", "The engine moves bytes at its own rate.")                      \
    X(42, COST_DMA_WINDOW, "cost_dma_window", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", \
      NUMBER, "duration", "ticks",                                                                 \
      "The engine waits because as many accesses as it may have are outstanding.")                 \
    X(43, COST_MEMORY_QUEUE, "cost_memory_queue", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", \
      "", NUMBER, "duration", "ticks",                                                             \
      "Accesses wait for channels of device memory, summed over the accesses.")                    \
    X(44, COST_MEMORY_SERVICE, "cost_memory_service", DETAIL, DEVICE, "cost", NONE, NUMBER,        \
      "command", "", NUMBER, "duration", "ticks",                                                  \
      "Channels of device memory serve the accesses, summed over the channels.")                   \
    X(45, COST_MEMORY_LATENCY, "cost_memory_latency", DETAIL, DEVICE, "cost", NONE, NUMBER,        \
      "command", "", NUMBER, "duration", "ticks", "From the last byte's service to its arrival.")  \
    X(46, CHANNELS, "channels", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "", NUMBER,       \
      "mask", "", "Bit i: the transfer uses channel i of device memory.")                          \
    X(47, CHANNELS_HIGH, "channels_high", DETAIL, DEVICE, "cost", NONE, NUMBER, "command", "",     \
      NUMBER, "mask", "", "Bit i: the transfer uses channel 64 + i of device memory.")

typedef enum pfc_trace_type {
    PFC_TRACE_NONE = 0,
#define PFC_X(number, id, ...) PFC_TRACE_##id = (number),
    PFC_TRACE_RECORDS(PFC_X)
#undef PFC_X
} pfc_trace_type;

/* number, identifier, name, first track number, meaning. A unit's track in an export (tid) is the
 * first of its kind plus its position among the device's units of that kind. */
#define PFC_TRACE_KINDS(X)                                                                         \
    X(0, HOST, "host", 1, "a thread of the host")                                                  \
    X(1, QUEUE, "queue", 1, "a command queue")                                                     \
    X(2, TENSOR, "tensor", 1000, "a matrix unit")                                                  \
    X(3, VECTOR, "vector", 2000, "a vector unit")                                                  \
    X(4, DMA, "dma", 3000, "a DMA engine")                                                         \
    X(5, HBM, "hbm", 4000, "memory channels: refresh, errors")                                     \
    X(6, LINK, "link", 5000, "a link to the host or to another device")                            \
    X(7, SCALAR, "scalar", 6000, "a scalar or control processor")                                  \
    X(8, POWER, "power", 7000, "power, temperature, clocks")                                       \
    X(9, COUNTERS, "counters", 8000, "counters of the whole device")                               \
    X(10, COLLECTIVE, "collective", 9000, "an engine for collective operations")

typedef enum pfc_trace_kind {
#define PFC_X(number, id, ...) PFC_TRACE_KIND_##id = (number),
    PFC_TRACE_KINDS(PFC_X)
#undef PFC_X
        PFC_TRACE_KINDS_LEN
} pfc_trace_kind;

/* number, identifier, name, meaning */
#define PFC_TRACE_STATES(X)                                                                        \
    X(0, IDLE, "idle", "nothing to do")                                                            \
    X(1, BUSY, "busy", "works")                                                                    \
    X(2, WAIT_SEMAPHORE, "wait_semaphore", "waits for a semaphore")                                \
    X(3, WAIT_MEMORY, "wait_memory", "waits for data from memory")                                 \
    X(4, WAIT_WEIGHTS, "wait_weights", "waits for weights")                                        \
    X(5, WAIT_SPACE, "wait_space", "waits for room for its result")                                \
    X(6, WAIT_COMMAND, "wait_command", "waits for a command")                                      \
    X(7, THROTTLED, "throttled", "held back by power or temperature")

typedef enum pfc_trace_state {
#define PFC_X(number, id, ...) PFC_TRACE_STATE_##id = (number),
    PFC_TRACE_STATES(PFC_X)
#undef PFC_X
        PFC_TRACE_STATES_LEN
} pfc_trace_state;

/** A row of PFC_TRACE_RECORDS. */
typedef struct pfc_trace_row {
    uint16_t number;
    uint16_t partner; /* 0: none */
    pfc_trace_phase phase;
    pfc_trace_side side;
    pfc_trace_field a_kind, b_kind;
    const char *name;
    const char *category;
    const char *a_name, *a_unit; /* "" when there is none */
    const char *b_name, *b_unit;
    const char *meaning;
} pfc_trace_row;

/** The row of a type; NULL: there is none. */
const pfc_trace_row *pfc_trace_row_of(uint16_t type);
/** The i-th row in order of numbers; NULL past the last. */
const pfc_trace_row *pfc_trace_row_at(unsigned i);
/** "begin", "end", ...: the phase, side or field kind as documents say it. */
const char *pfc_trace_phase_name(pfc_trace_phase phase);
const char *pfc_trace_side_name(pfc_trace_side side);
const char *pfc_trace_field_name(pfc_trace_field field);

/** A row of PFC_TRACE_KINDS or PFC_TRACE_STATES. */
typedef struct pfc_trace_word {
    uint16_t number;
    uint16_t track; /* of a kind: its first track number; of a state 0 */
    const char *name;
    const char *meaning;
} pfc_trace_word;

/** NULL: there is no such number. */
const pfc_trace_word *pfc_trace_kind_of(uint64_t number);
const pfc_trace_word *pfc_trace_state_of(uint64_t number);

#endif
