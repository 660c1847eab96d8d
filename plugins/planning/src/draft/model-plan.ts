import type { TaskCategory, TestDecision } from '@svc/contracts'
import { projectPath } from '../assess/words.ts'
import type { PlanTask } from '../plan-task.ts'
import { complexityOfText } from './splitter.ts'
import { inOrder } from './task-order.ts'

const CATEGORIES: readonly TaskCategory[] = [
  'General',
  'CodeGen',
  'Testing',
  'Debugging',
  'TypeChecking',
  'Research',
  'Parsing',
  'Review',
  'Planning'
]
const TEST_DECISIONS: readonly TestDecision[] = ['Required', 'Deferred', 'Skip', 'Optional', 'Unknown']
const MAX_DESCRIPTION_LENGTH = 8_192

/** Returns the JSON Schema of a model's reply. */
export function modelPlanSchema(maxTasks: number): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    properties: {
      summary: { type: 'string' },
      tasks: {
        type: 'array',
        minItems: 1,
        maxItems: maxTasks,
        items: {
          type: 'object',
          properties: {
            id: { type: 'integer' },
            description: { type: 'string' },
            category: { enum: CATEGORIES },
            files: { type: 'array', items: { type: 'string' } },
            estimated_complexity: { type: 'integer' },
            depends_on: { type: 'array', items: { type: 'integer' } },
            test_decision: { enum: TEST_DECISIONS },
            preconditions: { type: 'array', items: { type: 'string' } }
          },
          required: ['id', 'description', 'files', 'estimated_complexity', 'depends_on'],
          additionalProperties: false
        }
      }
    },
    required: ['summary', 'tasks'],
    additionalProperties: false
  }
}

export interface ModelPlan {
  readonly summary: string | null
  readonly tasks: readonly PlanTask[]
}

/**
 * Parses a plan from a model's reply: a JSON object with `tasks`, or an array of tasks. A code fence or other text may
 * surround it. Returns null if there is no plan. Missing and invalid fields get defaults; paths outside the project are
 * dropped.
 */
export function parseModelPlan(reply: string, maxTasks: number): ModelPlan | null {
  const value = parseEmbeddedJson(reply)
  const list = Array.isArray(value) ? value : recordOf(value)?.tasks
  if (!Array.isArray(list)) return null
  const tasks = list.flatMap((item, at) => taskOf(item, at + 1) ?? []).slice(0, maxTasks)
  if (tasks.length === 0) return null
  const summary = recordOf(value)?.summary
  return {
    summary: typeof summary === 'string' && summary.trim() !== '' ? summary.trim() : null,
    tasks: inOrder(tasks)
  }
}

function parseEmbeddedJson(reply: string): unknown {
  const starts = [reply.indexOf('{'), reply.indexOf('[')].filter(at => at >= 0)
  const end = Math.max(reply.lastIndexOf('}'), reply.lastIndexOf(']'))
  for (const text of [reply, ...(starts.length === 0 ? [] : [reply.slice(Math.min(...starts), end + 1)])]) {
    try {
      return JSON.parse(text)
    } catch {
      // The next candidate omits surrounding text and code fences.
    }
  }
  return undefined
}

function taskOf(value: unknown, position: number): PlanTask | null {
  const item = recordOf(value)
  const description =
    typeof item?.description === 'string' ? item.description.trim().slice(0, MAX_DESCRIPTION_LENGTH) : ''
  if (item === null || description === '') return null
  const category = CATEGORIES.find(each => plain(each) === plain(item.category))
  const decision = TEST_DECISIONS.find(each => plain(each) === plain(item.test_decision))
  const complexity = Number(item.estimated_complexity)
  return {
    id: Number.isInteger(item.id) ? Number(item.id) : position,
    description,
    ...(category === undefined ? {} : { category }),
    files: [...new Set(nonEmptyStrings(item.files).flatMap(file => projectPath(file) ?? []))],
    estimated_complexity: Number.isFinite(complexity)
      ? Math.min(10, Math.max(1, Math.round(complexity)))
      : complexityOfText(description),
    depends_on: Array.isArray(item.depends_on) ? item.depends_on.map(Number).filter(Number.isInteger) : [],
    ...(decision === undefined ? {} : { test_decision: decision }),
    preconditions: nonEmptyStrings(item.preconditions)
  }
}

function nonEmptyStrings(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(each => (typeof each === 'string' && each.trim() !== '' ? [each.trim()] : []))
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase().replaceAll('_', '') : ''
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null
}
