import {
  type EnqueueHints,
  type ExecutionRole,
  type FileAffinity,
  hintFields,
  orchestrationErrors,
  requestFields,
  type SubmitRequest,
  type TaskCategory,
  type TaskFields,
  taskLabel
} from '@svc/contracts'
import { MAX_DESCRIPTION_BYTES } from './limits.ts'
import type { TaskToRoute } from './ports.ts'
import type { Task, TaskExtra } from './task.ts'
import { campaignTokens, type InlineHints } from './task-hints.ts'
import type { World } from './world.ts'

/** Default role of a task by its category. */
export const ROLES: Readonly<Record<TaskCategory, ExecutionRole>> = {
  General: 'planner',
  CodeGen: 'builder',
  Testing: 'verifier',
  Debugging: 'reproducer',
  TypeChecking: 'builder',
  Research: 'researcher',
  Parsing: 'builder',
  Review: 'verifier',
  Ars: 'planner',
  Planning: 'planner',
  Visus: 'builder',
  InterAgent: 'planner',
  ToolOrchestration: 'planner'
}

const DEFAULT_COMPLEXITY = 5

/** Returns a complexity from 1 to 10; 5 if none is requested. */
export function complexityOf(requested: number | undefined): number {
  if (requested === undefined || Number.isNaN(requested)) return DEFAULT_COMPLEXITY
  return Math.min(10, Math.max(1, Math.round(requested)))
}

/** Throws `ORC_VALIDATION_FAILED` if a description is empty or too long. */
export function assertDescription(description: string): void {
  // A UTF-16 code unit is at most three bytes of UTF-8, so short descriptions need not be measured.
  const bytes =
    description.length * 3 <= MAX_DESCRIPTION_BYTES ? description.length : Buffer.byteLength(description, 'utf8')
  if (bytes > 0 && bytes <= MAX_DESCRIPTION_BYTES) return
  throw orchestrationErrors.create(
    'ORC_VALIDATION_FAILED',
    `Task validation failed: the description has ${bytes} bytes; it must have 1 to ${MAX_DESCRIPTION_BYTES}`,
    { hint: bytes === 0 ? 'describe the task' : 'put long text into a file, and name the file' }
  )
}

const NONE: readonly number[] = Object.freeze([])
const NO_TOKENS = { campaign: undefined, tier: undefined }

/**
 * Returns the incomplete dependencies. Throws `ORC_DEPENDENCY` for an unknown task, and for a cancelled one, which never
 * completes. A task cannot wait for itself, since its id is still unknown.
 */
export function openDependencies(world: World, on: readonly number[] | undefined): readonly number[] {
  if (on === undefined || on.length === 0) return NONE
  const open = new Set<number>()
  for (const id of on) {
    const task = world.tasks.get(id)
    if (task === undefined)
      throw orchestrationErrors.create('ORC_DEPENDENCY', `Dependency ${taskLabel(id)} is not a known task`, {
        hint: 'a task can only wait for tasks that were submitted before it and are still listed'
      })
    if (task.status.kind === 'Cancelled')
      throw orchestrationErrors.create(
        'ORC_DEPENDENCY',
        `Dependency ${taskLabel(id)} is Cancelled: it never completes`,
        {
          hint: 'omit the dependency, or submit that task again and depend on the new one'
        }
      )
    if (task.status.kind !== 'Completed') open.add(id)
  }
  return [...open]
}

/** Hints that are merged with other sources of the same field. */
const JOINED = [
  'tenant_id',
  'tool_hints',
  'research_hints',
  'campaign_id',
  'benchmark_tier'
] as const satisfies readonly (keyof EnqueueHints)[]
const REQUEST_KEYS = Object.keys(requestFields) as (keyof typeof requestFields)[]
const HINT_KEYS = (Object.keys(hintFields) as (keyof typeof hintFields)[]).filter(
  key => !JOINED.some(each => each === key)
)

/** Collects the rare fields of a task from all sources; null if there are none. */
export function extraOf(
  request: SubmitRequest,
  description: string,
  inline: InlineHints | null,
  account: string | undefined
): TaskExtra | null {
  const { hints } = request
  const extra: Record<string, unknown> = {}
  let isEmpty = true
  const set = (key: keyof TaskFields, value: unknown) => {
    if (value === undefined) return
    extra[key] = value
    isEmpty = false
  }
  set('tenant_id', hints?.tenant_id ?? account)
  for (const key of REQUEST_KEYS) set(key, request[key])
  if (hints !== undefined) for (const key of HINT_KEYS) set(key, hints[key])
  const tools = [...(hints?.tool_hints ?? []), ...(inline?.tools ?? [])]
  if (tools.length > 0) set('tool_hints', [...new Set(tools)])
  const research = [...(hints?.research_hints ?? []), ...(inline?.research ?? [])]
  if (research.length > 0) set('research_hints', [...new Set(research)])
  const tokens = description.includes(':') ? campaignTokens(description) : NO_TOKENS
  set('campaign_id', hints?.campaign_id ?? tokens.campaign)
  set('benchmark_tier', hints?.benchmark_tier ?? tokens.tier)
  return isEmpty ? null : (extra as TaskExtra)
}

/** Returns the router's view of a request. */
export function toRoute(
  request: Pick<SubmitRequest, 'agent_name' | 'capabilities'>,
  hints: Pick<EnqueueHints, 'required_labels' | 'active_skill' | 'qgate'> | undefined,
  description: string,
  files: readonly FileAffinity[]
): TaskToRoute {
  return {
    description,
    files,
    capabilities: request.capabilities,
    agent_name: request.agent_name,
    required_labels: hints?.required_labels,
    active_skill: hints?.active_skill,
    workflow: hints?.qgate?.workflow
  }
}

/** Returns the router's view of an existing task. */
export function routeAgain(task: Task): TaskToRoute {
  const extra = task.extra ?? {}
  return toRoute(extra as SubmitRequest, extra as EnqueueHints, task.description, task.files)
}
