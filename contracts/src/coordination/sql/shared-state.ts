import { hashText } from './key-hash.ts'
import { NOW_MS, rowAt, type SqlOperation } from './operation.ts'

/** Records values that may be used once; see `Coordination.useOnce`. */
export function useValuesOnce(
  values: readonly { readonly value: string; readonly expiresAt: number }[]
): SqlOperation<readonly boolean[]> {
  const rows = values.map(({ value, expiresAt }) => [hashText(value), expiresAt] as const)
  return {
    statements: [{ sql: USE_ONCE, parameters: [JSON.stringify(rows)] }],
    read([result]) {
      const fresh = new Set(result?.rows.map(([hash]) => hash))
      return rows.map(([hash]) => fresh.delete(hash))
    }
  }
}

const USE_ONCE = `insert into coord_jti (jti_hash, exp) select value ->> 0, value ->> 1 from json_each(?1) where true
on conflict (jti_hash) do nothing returning jti_hash`

/** Takes tokens of a bucket; see `Coordination.takeTokens`. */
export function takeBucketTokens(
  bucket: string,
  { perSecond, burst, wanted }: { readonly perSecond: number; readonly burst: number; readonly wanted: number }
): SqlOperation<number> {
  return {
    statements: [
      { sql: REFILL, parameters: [bucket, perSecond, burst] },
      { sql: TAKE, parameters: [bucket, wanted] }
    ],
    read: ([, result]) => rowAt<[number]>(result)?.[0] ?? 0
  }
}

/** A clock that was set back neither fills nor empties a bucket. */
const REFILL = `insert into coord_rate (bucket, tokens, at, taken) values (?1, ?3, ${NOW_MS}, 0)
on conflict (bucket) do update set
  tokens = min(?3, tokens + max(0, excluded.at - at) * ?2 / 1000.0), at = excluded.at`
const TAKE = `update coord_rate set taken = min(?2, cast(tokens as integer)),
  tokens = tokens - min(?2, cast(tokens as integer))
where bucket = ?1 returning taken`

/** Query of a named text. */
export function getMeta(name: string): SqlOperation<string | null> {
  return {
    statements: [{ sql: 'select value from coord_meta where name = ?1', parameters: [name] }],
    read: ([result]) => rowAt<[string]>(result)?.[0] ?? null
  }
}

/** Replaces a named text; see `CoordinationMeta.swap`. */
export function swapMeta(name: string, from: string | null, to: string | null): SqlOperation<boolean> {
  const changed = { read: ([result]: readonly { readonly changes: number }[]) => (result?.changes ?? 0) > 0 }
  if (from === null && to === null)
    return {
      statements: [{ sql: 'select 1 from coord_meta where name = ?1', parameters: [name] }],
      read: ([result]) => result?.rows.length === 0
    }
  if (from === null) return { statements: [{ sql: INSERT_META, parameters: [name, to] }], ...changed }
  if (to === null) return { statements: [{ sql: DELETE_META, parameters: [name, from] }], ...changed }
  return { statements: [{ sql: UPDATE_META, parameters: [name, from, to] }], ...changed }
}

const INSERT_META = 'insert into coord_meta (name, value) values (?1, ?2) on conflict (name) do nothing'
const DELETE_META = 'delete from coord_meta where name = ?1 and value = ?2'
const UPDATE_META = 'update coord_meta set value = ?3 where name = ?1 and value = ?2'

/** Query of the database's time. */
export function readTime(): SqlOperation<number> {
  return {
    statements: [{ sql: `select ${NOW_MS}`, parameters: [] }],
    read: ([result]) => rowAt<[number]>(result)?.[0] as number
  }
}
