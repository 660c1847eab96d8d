/** A crate that the compiler knows. */
export interface CuratedCrate {
  /**
   * `supported`: no diagnostic. `internal`: duplicates a builtin feature. `deferred`: not built in yet. `escape_hatch`:
   * works, but bypasses guarantees of the language.
   */
  readonly status: 'supported' | 'internal' | 'deferred' | 'escape_hatch'
  /** The alternative to use, or the risk. */
  readonly instead: string
  /** Names that programs may use; null for all. */
  readonly items: readonly string[] | null
}

const DATA = 'declare tables with `@table`, and use `db`'

const crate = (status: CuratedCrate['status'], instead: string, items: string | null = null): CuratedCrate => ({
  status,
  instead,
  items: items === null ? null : items.split(' ')
})

/** Crates that the compiler knows, by name. */
export const CURATED_CRATES: ReadonlyMap<string, CuratedCrate> = new Map(
  Object.entries({
    serde: crate('supported', '', 'Serialize Deserialize Serializer Deserializer de ser'),
    serde_json: crate(
      'supported',
      '',
      'Value Map Number Error json from_str from_slice from_value from_reader to_string to_string_pretty to_vec to_value to_writer'
    ),
    uuid: crate('supported', '', 'Uuid Builder Error Variant Version Bytes NAMESPACE_DNS NAMESPACE_URL'),
    chrono: crate(
      'supported',
      '',
      'DateTime Utc Local FixedOffset NaiveDate NaiveTime NaiveDateTime Duration TimeDelta TimeZone Datelike Timelike Weekday Month Days Months'
    ),
    regex: crate('supported', '', 'Regex RegexBuilder RegexSet Captures Match Error escape bytes'),
    tokio: crate('internal', 'every function can wait; use `std.time`, `std.process` and actors'),
    axum: crate('internal', 'declare routes with `http`, `@query`, `@mutation` and `@server`'),
    hyper: crate('internal', 'declare routes with `http`, and call servers with `std.http`'),
    reqwest: crate('internal', 'call servers with `std.http`'),
    tracing: crate('internal', 'write to the log with `std.log`'),
    libsql: crate('internal', DATA),
    turso: crate('internal', DATA),
    sqlx: crate('deferred', DATA),
    diesel: crate('deferred', DATA),
    sea_orm: crate('deferred', DATA),
    rusqlite: crate('escape_hatch', `it bypasses the checks of the database; ${DATA}`),
    tokio_postgres: crate('escape_hatch', `it bypasses the checks of the database; ${DATA}`),
    libc: crate('escape_hatch', 'it bypasses the limits of programs')
  })
)
