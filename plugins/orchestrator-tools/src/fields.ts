import type { AgentActivity, FileAffinity, Priority, TaskCategory, TrustTier } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'

/** Fields that many operations share. */

const MAX_PATH = 4_096

export const taskId = t.union([t.integer({ minimum: 1 }), t.string({ pattern: '^(T-)?[0-9]{1,15}$' })], {
  description: 'The number of a task, also as T-0042.'
})
export const agentId = t.union([t.integer({ minimum: 1 }), t.string({ pattern: '^(A-)?[0-9]{1,15}$' })], {
  description: 'The number of an agent, also as A-03.'
})

/** The number of an id in any spelling of {@link taskId} and {@link agentId}. */
export function numberOf(id: number | string): number {
  return typeof id === 'number' ? id : Number(id.replace(/^[TA]-/, ''))
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
    path: filePath('Relative to the repository, with forward slashes.'),
    access: t.enum(['read', 'write'])
  }),
  { description: 'Files that the task reads or writes; files that it writes are locked for its agent.' }
)

/** Forward slashes, and no `./` in front. */
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
      description: 'Summary of the work, in 24 characters or more; [[voxcite:REF]] cites evidence.'
    })
  ),
  checks_passed: t.optional(
    t.array(t.string({ maxLength: 1_024 }), {
      maxItems: 1_024,
      description: 'Names of checks that passed, for example tests, peer_review_approved, human_review_approved.'
    })
  ),
  evidence_citations: t.optional(t.array(t.string({ maxLength: 4_096 }), { maxItems: 1_024 })),
  artifact_paths: t.optional(
    t.array(filePath('A file that was created or changed.'), {
      maxItems: 4_096,
      description: 'Every file that was written.'
    })
  ),
  declared_non_placeholder: t.optional(t.boolean({ description: 'Whether the work contains no placeholders.' })),
  force_risky: t.optional(t.boolean()),
  force_risky_reason: t.optional(t.string({ maxLength: 4_096 }))
}

/** Output of an operation that changes something: `ok` for programs, the message for people. */
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

/** In any spelling: `CodeGen`, `code_gen`, `codegen`. Undefined for other texts. */
export function categoryOf(word: string): TaskCategory | undefined {
  return categories.get(word.replaceAll('_', '').toLowerCase())
}

export const category = t.string({
  pattern: `^(?:${CATEGORIES.map(anyCase).join('|')})$`,
  description: `One of ${CATEGORIES.join(', ')}, in any case, with or without underscores.`
})

/** A pattern for a word whatever its case, with an underscore before any capital. */
function anyCase(word: string): string {
  return [...word]
    .map((letter, at) => `${at > 0 && letter <= 'Z' ? '_?' : ''}[${letter.toLowerCase()}${letter.toUpperCase()}]`)
    .join('')
}

export const activity = t.enum<AgentActivity, object>([
  'writing',
  'reading',
  'executing',
  'thinking',
  'waiting_for_input',
  'idle'
])
export const trustTier = t.enum<TrustTier, object>(['Untrusted', 'Provisional', 'Trusted', 'System'])
