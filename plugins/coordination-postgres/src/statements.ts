import type { Statement } from './connections.ts'

/** Returns a prepared statement that calls a function of the schema with as many parameters. */
function call(name: string, parameters: number): Statement {
  const placeholders = Array.from({ length: parameters }, (_, index) => `$${index + 1}`)
  return { name: `svc_coord.${name}`, text: `select * from svc_coord.${name}(${placeholders.join(', ')})` }
}

/** Every statement of the store. Most are calls of functions, so that each is one round trip and one transaction. */
export const statements = {
  put: call('put_v1', 8),
  /** One item without a key. */
  putOne: {
    name: 'svc_coord.put_one',
    text: `insert into svc_coord.items
        (id, queue, body, priority, state, visible_at, max_attempts, lane, privacy, created_at)
      select nextval('svc_coord.item_ids'), $1, $2, $3, case when $4::bigint > 0 then 2 else 0 end, t.now + $4, $5, $6, $7, t.now
      from (select svc_coord.now_v1() as now) t
      returning id, true as fresh, null as result`
  },
  claims: call('claims_v3', 1),
  /** One claim whose holder need not be a node. */
  claimOne: {
    name: 'svc_coord.claim_v2',
    text: 'select 0 as request, c.* from svc_coord.claim_v2($1, $2, $3, $4, $5, $6) c'
  },
  ack: call('ack_v2', 5),
  ackOne: call('ack_one_v1', 5),
  extend: call('extend_v1', 3),
  giveBack: call('return_v1', 4),
  wake: call('wake_v1', 2),
  withdraw: call('withdraw_v1', 2),
  read: call('read_v1', 2),
  look: call('look_v1', 3),
  ready: { name: 'svc_coord.ready_v1', text: 'select queue from svc_coord.ready_v1($1) queue' },
  count: {
    name: 'svc_coord.count',
    text: `select count(*) as count from svc_coord.items where queue || '' >= $1 and queue || '' < $2`
  },
  trim: call('trim_v1', 3),
  dead: call('dead_v1', 3),
  revive: { name: 'svc_coord.revive_v1', text: 'select svc_coord.revive_v1($1, $2) as count' },
  grant: call('grant_v1', 4),
  renew: call('renew_v1', 4),
  revoke: {
    name: 'svc_coord.revoke',
    text: `delete from svc_coord.distributed_locks
      where scope = $1 and fence_token = $2 and expires_at > svc_coord.now_v1() returning true`
  },
  leases: {
    name: 'svc_coord.leases',
    text: `select lock_key, holder_node, fence_token, expires_at from svc_coord.distributed_locks
      where scope = $1 and fence_token > $2 and expires_at > svc_coord.now_v1() order by fence_token limit $3`
  },
  nodePut: call('node_put_v1', 4),
  nodeFlag: { name: 'svc_coord.node_flag_v1', text: 'select svc_coord.node_flag_v1($1, $2, $3, $4, $5, $6) as done' },
  nodeRemove: { name: 'svc_coord.node_remove_v1', text: 'select svc_coord.node_remove_v1($1, $2) as done' },
  nodesFind: {
    name: 'svc_coord.nodes_find',
    text: `select t.ord::integer - 1 as request, n.*
      from unnest($1::text[], $2::text[]) with ordinality as t (scope, id, ord)
      cross join lateral svc_coord.node_v1(t.scope, t.id) n`
  },
  nodes: call('nodes_v1', 2),
  seen: call('see_v1', 2),
  metaGet: { name: 'svc_coord.meta_get', text: 'select value from svc_coord.meta where name = $1' },
  metaSwap: { name: 'svc_coord.meta_swap_v1', text: 'select svc_coord.meta_swap_v1($1, $2, $3) as done' },
  useOnce: call('use_once_v1', 2),
  takeTokens: { name: 'svc_coord.take_tokens_v1', text: 'select svc_coord.take_tokens_v1($1, $2, $3, $4) as taken' },
  now: { name: 'svc_coord.now_v1', text: 'select svc_coord.now_v1() as now' },
  clean: { name: 'svc_coord.clean_v1', text: 'select svc_coord.clean_v1($1) as count' }
} as const satisfies Record<string, Statement>
