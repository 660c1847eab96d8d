import type { AgentActivity, FileAffinity, Priority, TaskCategory, TaskReference, TrustTier } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'

/** Fields and outputs shared by many operations. */

const MAX_PATH = 4_096

export const taskId = t.union([t.integer({ minimum: 1 }), t.string({ pattern: '^(T-)?[0-9]{1,15}$' })], {
  description: 'Id of a task, for example 42 or T-0042.'
})
/** A task of any process. */
export const taskReference = t.union(
  [t.integer({ minimum: 1 }), t.string({ pattern: '^(T-)?[0-9]{1,15}(@[A-Za-z0-9._:-]{1,253})?$' })],
  {
    description:
      'Id of a task, for example 42 or T-0042. T-0042@HOST if hosts with separate databases have this number.'
  }
)
export const agentId = t.union([t.integer({ minimum: 1 }), t.string({ pattern: '^(A-)?[0-9]{1,15}$' })], {
  description: 'Id of an agent, for example 3 or A-03.'
})

/** Returns the number of a {@link taskId}, {@link taskReference} or {@link agentId} in any spelling. */
export function numberOf(id: number | string): number {
  return typeof id === 'number' ? id : Number(id.replace(/^[TA]-/, '').replace(/@.*$/, ''))
}

/** Parses a {@link taskReference}. */
export function referenceOf(id: number | string): TaskReference {
  const [, host] = String(id).split('@', 2)
  return { id: numberOf(id), ...defined({ host }) }
}

export const filePath = (description: string) => t.string({ minLength: 1, maxLength: MAX_PATH, description })

const PRIORITIES: Readonly<Record<'urgent' | 'normal' | 'background', Priority>> = {
  urgent: 'Urgent',
  normal: 'Normal',
  background: 'Background'
}
export const priority = t.enum(['urgent', 'normal', 'background', 'Urgent', 'Normal', 'Background'], {
  description: 'Order in the queue.'
})

export function priorityOf(word: Infer<typeof priority>): Priority {
  return PRIORITIES[word.toLowerCase() as keyof typeof PRIORITIES]
}

export const files = t.array(
  t.object({
    path: filePath('Path relative to the repository, with forward slashes.'),
    access: t.enum(['read', 'write'], { default: 'write', description: 'What the task does with the file.' })
  }),
  { description: 'Files that the task reads or writes; those that it writes are locked for its agent.' }
)

/** Normalises the paths: forward slashes, no leading `./`. */
export function filesOf(list: readonly FileAffinity[]): readonly FileAffinity[] {
  return list.map(({ path, access }) => ({ path: normalPath(path), access }))
}

export function normalPath(path: string): string {
  const parts = path.replaceAll('\\', '/').split('/')
  return parts.filter((part, index) => part !== '.' && (part !== '' || index === 0)).join('/')
}

export const attestationFields = {
  completion_summary: t.optional(
    t.string({
      maxLength: 131_072,
      description: 'Summary of the work, at least 24 characters; [[voxcite:REF]] cites evidence.'
    })
  ),
  checks_passed: t.optional(
    t.array(t.string({ maxLength: 1_024 }), {
      maxItems: 1_024,
      description: 'Names of passed checks, for example tests, peer_review_approved, human_review_approved.'
    })
  ),
  evidence_citations: t.optional(
    t.array(t.string({ maxLength: 4_096 }), {
      maxItems: 1_024,
      description: 'References to evidence: files, logs, URLs.'
    })
  ),
  artifact_paths: t.optional(
    t.array(filePath('A created or changed file.'), {
      maxItems: 4_096,
      description: 'All files that were written.'
    })
  ),
  declared_non_placeholder: t.optional(t.boolean({ description: 'Whether the work contains no placeholders.' })),
  force_risky: t.optional(t.boolean({ description: 'Complete in spite of a gate; needs force_risky_reason.' })),
  force_risky_reason: t.optional(t.string({ maxLength: 4_096, description: 'Why the risk is accepted.' }))
}

/** Output of an operation that changes something: `ok` for programs, `message` for users. */
export const done = t.object({ ok: t.boolean(), message: t.string({ description: 'Result.' }) })

const CATEGORIES: readonly TaskCategory[] = [
  'General',
  'CodeGen',
  'Testing',
  'Debugging',
  'TypeChecking',
  'Research',
  'Parsing',
  'Review',
  'Ars',
  'Planning',
  'Visus',
  'InterAgent',
  'ToolOrchestration'
]
const categories = new Map(CATEGORIES.map(category => [category.toLowerCase(), category]))

/** Parses a category in any spelling: `CodeGen`, `code_gen`, `codegen`. Returns undefined for other words. */
export function categoryOf(word: string): TaskCategory | undefined {
  return categories.get(word.replaceAll('_', '').toLowerCase())
}

export const category = t.string({
  pattern: `^(?:${CATEGORIES.map(anyCase).join('|')})$`,
  description: `One of ${CATEGORIES.join(', ')}, in any case, with or without underscores.`
})

/** Returns a pattern that matches a word in any case, with optional underscores before its capitals. */
function anyCase(word: string): string {
  return [...word]
    .map((letter, at) => `${at > 0 && letter <= 'Z' ? '_?' : ''}[${letter.toLowerCase()}${letter.toUpperCase()}]`)
    .join('')
}

export const activity = t.enum<AgentActivity, { description: string }>(
  ['writing', 'reading', 'executing', 'thinking', 'waiting_for_input', 'idle'],
  { description: 'What the agent does now.' }
)
export const trustTier = t.enum<TrustTier, { description: string }>(['Untrusted', 'Provisional', 'Trusted', 'System'], {
  description: 'Tier of trust.'
})
