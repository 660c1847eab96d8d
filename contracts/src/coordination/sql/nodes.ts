import type { SqlParameter, SqlResult, SqlValue } from '../../database/values.ts'
import type { NodeFlags, NodeList, StoredNode } from '../store.ts'
import { EPOCH_BASE, NOW_MS, rowAt, type SqlOperation } from './operation.ts'

/** Highest version of removed nodes whose rows were deleted; lists since an earlier version are complete. */
const FLOOR = "coalesce((select value from coord_seq where name = 'nodes-floor'), 0)"
/** The next version of the scope `?1`. */
const VERSION = `(select max(coalesce(max(version), 0) + 1, ${EPOCH_BASE} + 1, ${FLOOR} + 1)
  from coord_nodes where scope = ?1)`

/** Stores a node's record; see `CoordinationNodes.put`. */
export function putNode(
  scope: string,
  id: string,
  record: string,
  expected: number | null
): SqlOperation<StoredNode | null> {
  const write: { sql: string; parameters: SqlParameter[] } =
    expected === null
      ? { sql: INSERT, parameters: [scope, id, record] }
      : { sql: UPDATE, parameters: [scope, id, record, expected] }
  return {
    statements: [write, { sql: SEEN_IF_WRITTEN, parameters: [scope, id, record] }, findStatement(scope, id)],
    read: ([written, , found]) => ((written?.changes ?? 0) > 0 ? toNode(found?.rows[0]) : null)
  }
}

const INSERT = `insert into coord_nodes (scope, node_id, record, version, changed_at)
values (?1, ?2, ?3, ${VERSION}, ${NOW_MS})
on conflict (scope, node_id) do update set record = excluded.record, version = excluded.version,
  changed_at = excluded.changed_at, maintenance = 0, until = null
where coord_nodes.record is null`
const UPDATE = `update coord_nodes set record = ?3, version = ${VERSION}, changed_at = ${NOW_MS}
where scope = ?1 and node_id = ?2 and record is not null and version = ?4`
/** Runs directly after INSERT or UPDATE. */
const SEEN_IF_WRITTEN = `insert into coord_seen (scope, node_id, at) select ?1, ?2, ${NOW_MS}
where changes() > 0 and ?3 is not null
on conflict (scope, node_id) do update set at = excluded.at`

/** Marks nodes as seen. Returns those that exist. */
export function seeNodes(scope: string, ids: readonly string[]): SqlOperation<readonly string[]> {
  return {
    statements: [{ sql: SEE, parameters: [scope, JSON.stringify(ids)] }],
    read: ([result]) => {
      const seen = new Set(result?.rows.map(([id]) => id))
      return [...new Set(ids)].filter(id => seen.has(id))
    }
  }
}

const SEE = `insert into coord_seen (scope, node_id, at)
select scope, node_id, ${NOW_MS} from coord_nodes
where scope = ?1 and node_id in (select value from json_each(?2)) and record is not null
on conflict (scope, node_id) do update set at = excluded.at
returning node_id`

/** Marks a node as seen, and returns it. */
export function seeNode(scope: string, id: string): SqlOperation<StoredNode | null> {
  const { statements } = seeNodes(scope, [id])
  return {
    statements: [...statements, findStatement(scope, id)],
    read: ([, found]) => toNode(found?.rows[0])
  }
}

export function flagNode(scope: string, id: string, flags: NodeFlags): SqlOperation<boolean> {
  const { quarantined, maintenance, maintenanceUntil } = flags
  return {
    statements: [
      {
        sql: FLAG,
        parameters: [
          scope,
          id,
          quarantined ?? null,
          maintenance ?? null,
          maintenanceUntil !== undefined,
          maintenanceUntil ?? null
        ]
      }
    ],
    read: ([result]) => (result?.changes ?? 0) > 0
  }
}

/** A switch of the maintenance without an end removes the earlier end. */
const FLAG = `update coord_nodes set
  quarantined = coalesce(?3, quarantined), maintenance = coalesce(?4, maintenance),
  until = case when ?4 = 0 then null when ?5 = 1 then ?6 when ?4 = 1 then null else until end,
  version = ${VERSION}, changed_at = ${NOW_MS}
where scope = ?1 and node_id = ?2 and record is not null`

export function removeNode(scope: string, id: string): SqlOperation<boolean> {
  return {
    statements: [
      { sql: REMOVE, parameters: [scope, id] },
      { sql: 'delete from coord_seen where scope = ?1 and node_id = ?2', parameters: [scope, id] }
    ],
    read: ([result]) => (result?.changes ?? 0) > 0
  }
}

const REMOVE = `update coord_nodes set record = null, maintenance = 0, until = null, version = ${VERSION},
  changed_at = ${NOW_MS}
where scope = ?1 and node_id = ?2 and record is not null`

const COLUMNS = `n.node_id, n.record, n.version, n.quarantined,
  case when n.maintenance = 1 and (n.until is null or n.until > ${NOW_MS}) then 1 else 0 end,
  n.until, coalesce(s.at, n.changed_at)`
const FROM = `from coord_nodes n left join coord_seen s on s.scope = n.scope and s.node_id = n.node_id`

/** Query of one node. */
export function findNode(scope: string, id: string): SqlOperation<StoredNode | null> {
  return { statements: [findStatement(scope, id)], read: ([result]) => toNode(result?.rows[0]) }
}

function findStatement(scope: string, id: string): { sql: string; parameters: SqlParameter[] } {
  const sql = `select ${COLUMNS} ${FROM} where n.scope = ?1 and n.node_id = ?2 and n.record is not null`
  return { sql, parameters: [scope, id] }
}

/** Query of the nodes; the first row has the version of the list, and whether it is complete. */
export function listNodes(scope: string, since: number | null): SqlOperation<NodeList> {
  return {
    statements: [{ sql: LIST, parameters: [scope, since ?? -1] }],
    read([result]) {
      const [version, complete] = rowAt<[number, number]>(result) as [number, number]
      const rows = (result as SqlResult).rows.slice(1)
      return {
        version,
        complete: complete === 1,
        nodes: rows.flatMap(row => toNode(row) ?? []),
        removed: complete === 1 ? [] : rows.filter(row => row[1] === null).map(([id]) => id as string)
      }
    }
  }
}

const LIST = `with state as (
  select version, ?2 < 0 or ?2 < ${FLOOR} or ?2 > version as complete from (
    select max(coalesce(max(version), 0), ${FLOOR}) as version from coord_nodes where scope = ?1))
select version, complete, null, null, null, null, null, 0 as section, '' as position from state
union all
select ${COLUMNS}, 1, n.node_id ${FROM}
where n.scope = ?1 and n.version > (select case when complete then -1 else ?2 end from state)
  and (n.record is not null or not (select complete from state))
order by section, position`

function toNode(row: readonly SqlValue[] | undefined): StoredNode | null {
  if (row === undefined || row[1] === null) return null
  const maintenance = row[4] === 1
  return {
    id: row[0] as string,
    record: row[1] as string,
    version: row[2] as number,
    quarantined: row[3] === 1,
    maintenance,
    maintenanceUntil: maintenance ? (row[5] as number | null) : null,
    seenAt: row[6] as number
  }
}
