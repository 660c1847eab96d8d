import type { FileAffinity } from '@svc/contracts'
import type { PlanTask } from '../plan-task.ts'
import type { ExecutionPolicy, NewNode } from './plan-rows.ts'

/** Kinds of failures after which a plan is replanned by default. */
export const DEFAULT_TRIGGERS = ['compile', 'test', 'scope', 'lock', 'capability', 'dependency'] as const

/** Patterns in an error message, by trigger. */
const TRIGGER_PATTERNS: Readonly<Record<(typeof DEFAULT_TRIGGERS)[number], RegExp>> = {
  compile: /compil|syntax error|type ?check|typecheck|type error/i,
  test: /\btests?\b|assertion|expected .+ (?:but|to)/i,
  scope: /scope denied|out(?:side)? of scope|outside (?:its|the) scope/i,
  lock: /\block(?:ed| conflict)?\b/i,
  capability: /capabilit|no agent (?:can|has)|min_vram|gpu/i,
  dependency: /dependenc|not found|missing (?:module|package|import)/i
}

/** Characters of an error message that are searched; the cause is named near its beginning. */
const MAX_ERROR_CHARACTERS = 4_096

/** Returns the first trigger that the error matches; null if there is none. */
export function matchingTrigger(triggers: readonly string[], message: string): string | null {
  const error = message.slice(0, MAX_ERROR_CHARACTERS)
  const lower = error.toLowerCase()
  return (
    triggers.find(trigger =>
      trigger.startsWith('custom:')
        ? lower.includes(trigger.slice('custom:'.length).toLowerCase())
        : (TRIGGER_PATTERNS[trigger as keyof typeof TRIGGER_PATTERNS]?.test(error) ?? false)
    ) ?? null
  )
}

/** Matches descriptions that begin with a verb of reading; such tasks get no write access. */
const READ_ONLY_DESCRIPTION =
  /^(?:analy[sz]e|assess|audit|check|compare|describe|evaluate|examine|explain|explore|find|inspect|investigate|list|observe|read|research|review|scan|search|study|survey|test|trace|validate|verify)\b/i

/** Returns the plan node of a drafted task. Drops dependencies on ids that are not from 1 to `task.id - 1`. */
export function nodeFromTask(task: PlanTask, goalFiles: readonly FileAffinity[] = []): NewNode {
  const isReadOnly = READ_ONLY_DESCRIPTION.test(task.description)
  const taskFiles = task.files
    .filter(path => !goalFiles.some(file => file.path === path))
    .map((path): FileAffinity => ({ path, access: isReadOnly ? 'read' : 'write' }))
  const inheritedFiles = goalFiles.map(
    ({ path, access }): FileAffinity => ({ path, access: isReadOnly ? 'read' : access })
  )
  const policy: ExecutionPolicy = {
    allowed_skills: [],
    allowed_action_labels: isReadOnly ? ['read', 'execute'] : ['read', 'write', 'execute'],
    file_manifest: [...inheritedFiles, ...taskFiles],
    enqueue_hints: {
      complexity: task.estimated_complexity,
      ...(task.category === undefined ? {} : { task_category: task.category })
    },
    force_risky: false,
    replan_triggers: [...DEFAULT_TRIGGERS],
    max_retries: 1,
    ...(task.test_decision === undefined ? {} : { test_decision: task.test_decision }),
    ...(task.preconditions.length === 0 ? {} : { preconditions: task.preconditions })
  }
  return {
    id: `n${task.id}`,
    description: task.description,
    dependsOn: task.depends_on.filter(id => id >= 1 && id < task.id).map(id => `n${id}`),
    policy,
    status: 'pending',
    workflow: null
  }
}

/**
 * Returns the drafted task of a plan node, for scoring. Omits the category. Also omits `test_decision`, which was scored
 * when the plan was drafted.
 */
export function taskFromNode(node: Pick<NewNode, 'description' | 'dependsOn' | 'policy'>, id: number): PlanTask {
  return {
    id,
    description: node.description,
    files: node.policy.file_manifest.map(({ path }) => path),
    estimated_complexity: node.policy.enqueue_hints?.complexity ?? 3,
    depends_on: node.dependsOn.map(each => Number(each.slice(1))),
    preconditions: node.policy.preconditions ?? []
  }
}
