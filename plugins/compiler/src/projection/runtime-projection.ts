import type { HirDbPlan, RuntimeProjection } from '@svc/contracts'
import type { IrModule } from '../ir/ir.ts'
import type { HostProbe } from './host-probe.ts'

type Policy = RuntimeProjection['db_planning_policies'][number]
type Hints = NonNullable<RuntimeProjection['module_task_capability_hints']>

const OPERATIONS: Readonly<Record<HirDbPlan['op'], Policy['op']>> = {
  Insert: 'insert',
  Get: 'get',
  Delete: 'delete',
  All: 'all',
  FilterRecord: 'filter_record',
  Count: 'count',
  UnsafeQueryRawClause: 'unsafe_query_raw_clause',
  Update: 'update',
  Aggregate: 'aggregate'
}

/** Returns the requirements of a module on its runtime. `probe` describes the machine; null for a portable document. */
export function runtimeProjection(module: IrModule, probe: HostProbe | null): RuntimeProjection {
  const policies = policiesOf(module)
  const hints = hintsOf(policies)
  return {
    schema_version: 1,
    ...(hints === null ? {} : { module_task_capability_hints: hints }),
    ...(probe === null ? {} : { host_capability_probe: probe }),
    db_planning_policies: policies
  }
}

function policiesOf(module: IrModule): Policy[] {
  const found = new Map<string, Policy>()
  collect(module, plan => {
    const policy = policyOf(plan)
    if (policy !== null) found.set(sortKey(policy), policy)
  })
  return [...found].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, policy]) => policy)
}

/** Returns null for an operation that only reads and writes rows. */
function policyOf({ table, op, capabilities }: HirDbPlan): Policy | null {
  const { requires_sync, emits_change_log, live_topic, retrieval_mode, orchestration_scope } = capabilities
  const isDefault =
    !requires_sync &&
    !emits_change_log &&
    live_topic === null &&
    retrieval_mode === null &&
    orchestration_scope === null
  if (isDefault) return null
  return {
    table,
    op: OPERATIONS[op],
    requires_sync,
    emits_change_log,
    ...(live_topic === null ? {} : { live_topic }),
    ...(retrieval_mode === null ? {} : { retrieval_mode: retrieval_mode.toLowerCase() as 'fts' | 'vector' | 'hybrid' }),
    ...(orchestration_scope === null ? {} : { orchestration_scope })
  }
}

/** Returns equal keys for equal policies. The keys sort in the order of the document. */
function sortKey(policy: Policy): string {
  const { table, op, requires_sync, emits_change_log, live_topic, retrieval_mode, orchestration_scope } = policy
  const rest = [Number(requires_sync), Number(emits_change_log), live_topic, retrieval_mode, orchestration_scope]
  return JSON.stringify([table, op, ...rest.map(each => each ?? '')])
}

function hintsOf(policies: readonly Policy[]): Hints | null {
  const labels = new Set<string>()
  let prefersGpu = false
  for (const { retrieval_mode, orchestration_scope } of policies) {
    if (retrieval_mode === 'vector' || retrieval_mode === 'hybrid') {
      prefersGpu = true
      labels.add(`vox:db_retrieval:${retrieval_mode}`)
    }
    if (orchestration_scope !== undefined) labels.add(`vox:orchestration_scope:${orchestration_scope}`)
  }
  if (labels.size === 0) return null
  return { ...(prefersGpu ? { prefer_gpu_compute: true } : {}), labels: [...labels].sort() }
}

/** Calls `visit` for every plan in a module. */
function collect(node: unknown, visit: (plan: HirDbPlan) => void): void {
  if (typeof node !== 'object' || node === null) return
  if ('DbTableOp' in node) visit((node.DbTableOp as { readonly plan: HirDbPlan }).plan)
  for (const inner of Array.isArray(node) ? node : Object.values(node)) collect(inner, visit)
}
