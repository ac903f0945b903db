import StateDatabase

/// The tables of `outbox.sqlite`.
///
/// | table | a row is |
/// |---|---|
/// | `changes` | a change without its bodies |
/// | `bodies` | a body of a change: `base`, `ours`, `patch` or `theirs` |
/// | `credentials` | a named set of secret fields |
/// | `pauses` | the time in which an origin wants no requests of a namespace |
/// | `removals` | a namespace that loses its changes and credentials, as it is being removed, begun anew or created |
///
/// Bodies have a table of their own, because SQLite writes a whole row when a column changes, and a change takes about
/// four states. States and policies are words, so that a person can read the file with any SQLite tool. Rows reference
/// no other database.
///
/// The indexes: `changesByState` for the limits, listings and metrics of a namespace; `changesByKey` for the view of a
/// resource; `changesByCallerKey` for repeated requests; `changesByEnd` for pruning.
enum OutboxSchema {
    static let schema = StateDatabase.Schema(
        file: "outbox.sqlite",
        // "LdOx".
        application: 0x4C64_4F78,
        migrations: [first, second, third, fourth, fifth, sixth, seventh, eighth, ninth])

    private static let first = """
        CREATE TABLE changes (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          namespace TEXT NOT NULL,
          caller TEXT NOT NULL,
          lane TEXT,
          method TEXT NOT NULL,
          url TEXT NOT NULL,
          canonicalURL TEXT NOT NULL,
          key TEXT NOT NULL,
          origin TEXT NOT NULL,
          fields TEXT NOT NULL,
          edit TEXT NOT NULL,
          base TEXT NOT NULL,
          baseTag TEXT,
          baseDigest BLOB,
          rewrittenBase BLOB,
          oursDigest BLOB,
          theirsTag TEXT,
          theirsDigest BLOB,
          onConflict TEXT NOT NULL,
          onUncertain TEXT NOT NULL,
          expires INTEGER,
          callerKey TEXT,
          payload BLOB,
          credential TEXT,
          created INTEGER NOT NULL,
          state TEXT NOT NULL,
          attempts INTEGER NOT NULL,
          problem TEXT,
          problemStatus INTEGER,
          nextAttempt INTEGER,
          mayBeApplied INTEGER NOT NULL,
          isUnguarded INTEGER NOT NULL,
          byteCount INTEGER NOT NULL,
          ended INTEGER
        );
        CREATE INDEX changesByState ON changes(namespace, state, byteCount);
        CREATE INDEX changesByKey ON changes(namespace, key);
        CREATE UNIQUE INDEX changesByCallerKey ON changes(caller, callerKey) WHERE callerKey IS NOT NULL;
        CREATE INDEX changesByEnd ON changes(namespace, ended) WHERE ended IS NOT NULL;
        CREATE TABLE bodies (
          change INTEGER NOT NULL REFERENCES changes(id) ON DELETE CASCADE,
          role TEXT NOT NULL,
          body BLOB NOT NULL,
          PRIMARY KEY (change, role)
        );
        CREATE TABLE credentials (
          namespace TEXT NOT NULL,
          name TEXT NOT NULL,
          origins TEXT NOT NULL,
          fields TEXT NOT NULL,
          PRIMARY KEY (namespace, name)
        );
        """

    private static let second = """
        CREATE TABLE pauses (origin TEXT PRIMARY KEY, began INTEGER NOT NULL, ends INTEGER NOT NULL);
        """

    private static let third = """
        ALTER TABLE changes ADD COLUMN skipsLook INTEGER NOT NULL DEFAULT 0;
        """

    private static let fourth = """
        ALTER TABLE changes ADD COLUMN baseType TEXT;
        """

    private static let fifth = """
        CREATE TABLE removals (namespace TEXT PRIMARY KEY);
        """

    /// A key of one namespace must tell no caller of another namespace that it was used.
    private static let sixth = """
        DROP INDEX changesByCallerKey;
        CREATE UNIQUE INDEX changesByCallerKey ON changes(namespace, caller, callerKey) WHERE callerKey IS NOT NULL;
        """

    /// An origin may have wanted an earlier pause of any namespace with changes for it.
    private static let seventh = """
        ALTER TABLE pauses RENAME TO commonPauses;
        CREATE TABLE pauses (
          namespace TEXT NOT NULL, origin TEXT NOT NULL, began INTEGER NOT NULL, ends INTEGER NOT NULL,
          PRIMARY KEY (namespace, origin)
        );
        INSERT INTO pauses SELECT DISTINCT changes.namespace, origin, began, ends
          FROM commonPauses JOIN changes USING (origin) WHERE changes.ended IS NULL;
        DROP TABLE commonPauses;
        """

    /// The new version of a namespace that is begun anew, empty for none; NULL: the namespace is removed.
    private static let eighth = """
        ALTER TABLE removals ADD COLUMN version TEXT;
        """

    /// 1: a namespace that was lost with the cache is created again.
    private static let ninth = """
        ALTER TABLE removals ADD COLUMN isCreation INTEGER NOT NULL DEFAULT 0;
        """
}
