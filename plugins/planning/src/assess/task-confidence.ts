import type { PlanTask } from '../plan-task.ts'
import { isDestructive, isPlaceholder, isVagueShort, lacksAction, SHORT_CHARACTERS } from './quality-gate.ts'

/** Factor of each code; a task's confidence is the product of the factors of its codes. */
const FACTORS = {
  vague_short: 0.65,
  vague_phrase: 0.75,
  risk_destructive: 0.35,
  tbd_placeholder: 0.7,
  precondition_missing: 0.7,
  heavy_without_test_hint: 0.65,
  deps_incomplete_or_order: 0.55
} as const

export type TaskCode = keyof typeof FACTORS

export interface TaskAssessment {
  readonly task_id: number
  readonly reason_codes: readonly TaskCode[]
  /** [0, 1]. */
  readonly task_confidence: number
  /** Whether a code is `risk_destructive` or `heavy_without_test_hint`. */
  readonly critical: boolean
}

const PRECONDITIONS_FROM = 6

/** Returns the files of a task, without empty paths and "tbd". */
export function realFiles({ files }: Pick<PlanTask, 'files'>): readonly string[] {
  return files.filter(file => file.trim() !== '' && file.trim().toLowerCase() !== 'tbd')
}

export function assessTask(task: PlanTask, all: readonly PlanTask[]): TaskAssessment {
  const reason_codes = codesOf(task, all)
  return {
    task_id: task.id,
    reason_codes,
    task_confidence: reason_codes.reduce((product, code) => product * FACTORS[code], 1),
    critical: reason_codes.some(code => code === 'risk_destructive' || code === 'heavy_without_test_hint')
  }
}

function codesOf(task: PlanTask, all: readonly PlanTask[]): TaskCode[] {
  const { description, files } = task
  const codes: TaskCode[] = []
  if (isVagueShort(description)) codes.push('vague_short')
  if (description.trim().length >= SHORT_CHARACTERS && lacksAction(description)) codes.push('vague_phrase')
  if (isDestructive(description)) codes.push('risk_destructive')
  if (isPlaceholder(description, files)) codes.push('tbd_placeholder')
  if (realFiles(task).length > 0 && task.estimated_complexity >= PRECONDITIONS_FROM && task.preconditions.length === 0)
    codes.push('precondition_missing')
  if (
    task.test_decision === 'Required' &&
    !/test|verif/i.test([description, ...task.preconditions].join(' ')) &&
    !files.some(file => /test/i.test(file))
  )
    codes.push('heavy_without_test_hint')
  if (task.depends_on.some(id => id >= task.id || !all.some(other => other.id === id)))
    codes.push('deps_incomplete_or_order')
  return codes
}
