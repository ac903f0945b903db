/* The upper limit of acknowledged writes: bare SQLite with Larder's way of grouping, without HTTP.

   sqlite FILE PRODUCERS SECONDS BODY-BYTES SYNCHRONOUS

   Each producer stores a row and waits until the row is durable, as a client waits for its answer. A single writer
   thread takes all waiting rows and commits them in one transaction. With SYNCHRONOUS "normal" or "off", a committed
   row is in the write-ahead log, which the kernel holds, so that the row survives a kill -9. With "full", a committed
   row survives a power cut. The program prints one line of JSON. */
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct producer {
    pthread_t thread;
    pthread_cond_t done;
    struct producer *next;
    char key[48];
    int number;
    int acknowledged;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct producer *waiting;
static int producers_left;
static atomic_int ending;
static long rows, transactions;
static char *body;
static int body_size;
static sqlite3 *database;
static sqlite3_stmt *begin_statement, *commit_statement, *entry_statement, *body_statement;

static void check(int code, const char *what)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql)
{
    check(sqlite3_exec(database, sql, NULL, NULL, NULL), sql);
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), sql);
    return statement;
}

static void step(sqlite3_stmt *statement)
{
    check(sqlite3_step(statement), "step");
    check(sqlite3_reset(statement), "reset");
}

static void *produce(void *argument)
{
    struct producer *self = argument;
    for (long count = 0; !atomic_load_explicit(&ending, memory_order_relaxed); count++) {
        snprintf(self->key, sizeof self->key, "producer-%d-%ld", self->number, count);
        pthread_mutex_lock(&lock);
        self->acknowledged = 0;
        self->next = waiting;
        waiting = self;
        pthread_cond_signal(&work);
        while (!self->acknowledged) pthread_cond_wait(&self->done, &lock);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    producers_left--;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void store(const struct producer *producer)
{
    check(sqlite3_bind_text(entry_statement, 1, producer->key, -1, SQLITE_STATIC), "bind");
    check(sqlite3_bind_int(entry_statement, 2, body_size), "bind");
    step(entry_statement);
    check(sqlite3_bind_int64(body_statement, 1, sqlite3_last_insert_rowid(database)), "bind");
    check(sqlite3_bind_blob(body_statement, 2, body, body_size, SQLITE_STATIC), "bind");
    step(body_statement);
    rows++;
}

static void write_groups(void)
{
    pthread_mutex_lock(&lock);
    while (producers_left > 0) {
        struct producer *group = waiting;
        if (!group) {
            pthread_cond_wait(&work, &lock);
            continue;
        }
        waiting = NULL;
        pthread_mutex_unlock(&lock);
        step(begin_statement);
        for (struct producer *each = group; each; each = each->next) store(each);
        step(commit_statement);
        transactions++;
        pthread_mutex_lock(&lock);
        while (group) {
            struct producer *next = group->next;
            group->acknowledged = 1;
            pthread_cond_signal(&group->done);
            group = next;
        }
    }
    pthread_mutex_unlock(&lock);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *end_later(void *argument)
{
    double seconds = *(double *)argument;
    struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&time, NULL);
    atomic_store(&ending, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: sqlite FILE PRODUCERS SECONDS BODY-BYTES SYNCHRONOUS\n");
        return 2;
    }
    int count = atoi(argv[2]);
    double seconds = atof(argv[3]);
    body_size = atoi(argv[4]);
    body = malloc((size_t)body_size + 1);
    struct producer *producers = calloc((size_t)count, sizeof *producers);
    if (count < 1 || !body || !producers) return 2;
    memset(body, 'x', (size_t)body_size);

    check(sqlite3_open(argv[1], &database), "open");
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA synchronous = %s", argv[5]);
    run("PRAGMA journal_mode = WAL");
    run(pragma);
    /* Two tables, as in Larder: the metadata of an entry, and its body. */
    run("CREATE TABLE entries (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, contentLength INTEGER NOT NULL)");
    run("CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)");
    begin_statement = prepare("BEGIN IMMEDIATE");
    commit_statement = prepare("COMMIT");
    entry_statement = prepare("INSERT INTO entries (key, contentLength) VALUES (?, ?)");
    body_statement = prepare("INSERT INTO bodies VALUES (?, ?)");

    producers_left = count;
    double start = now();
    pthread_t timer;
    if (pthread_create(&timer, NULL, end_later, &seconds)) return 1;
    for (int i = 0; i < count; i++) {
        producers[i].number = i;
        pthread_cond_init(&producers[i].done, NULL);
        if (pthread_create(&producers[i].thread, NULL, produce, &producers[i])) return 1;
    }
    write_groups();
    double end = now();
    printf("{\"rows\":%ld,\"transactions\":%ld,\"seconds\":%.6f}\n", rows, transactions, end - start);
    return 0;
}
