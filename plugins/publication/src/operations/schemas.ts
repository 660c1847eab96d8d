import { PREFLIGHT_PROFILES } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'

export const publicationId = t.string({ minLength: 1, maxLength: 200, description: 'Id of the publication.' })

export const digest = t.string({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA3-256 of the content, as 64 lower-case hex digits.',
  examples: ['6634af7ee2413b70dd9d1c40e54a4c75cbaaf82b66af28c07ee1b8f1691d560e']
})

export const profile = t.enum(PREFLIGHT_PROFILES, { default: 'default', description: 'What is checked.' })

const milliseconds = (description: string) => t.integer({ description })

export const approval = t.object({
  approver: t.string(),
  approver_role: t.string({ description: 'human, or agent for a tool of a model.' }),
  content_sha3_256: t.string(),
  approved_at_ms: milliseconds('Unix milliseconds.')
})

const manifestFields = {
  publication_id: t.string(),
  content_type: t.string(),
  title: t.string(),
  author: t.string(),
  state: t.string({ description: 'draft, approved, published, publish_failed, or the status of an archive.' }),
  version: t.integer({ description: '1 for the first content; increases with each other content.' }),
  content_sha3_256: t.string(),
  source_ref: t.nullable(t.string()),
  created_at_ms: milliseconds('Unix milliseconds.'),
  updated_at_ms: milliseconds('Unix milliseconds.')
}

export const manifest = t.object({
  ...manifestFields,
  abstract_text: t.nullable(t.string()),
  citations_json: t.nullable(t.string()),
  metadata_json: t.nullable(t.string()),
  body_bytes: t.integer({ description: 'Size of the text.' }),
  body_markdown: t.optional(t.string({ description: 'Only if requested.' }))
})

export const summary = t.object({
  ...manifestFields,
  approvals: t.integer({ description: 'Distinct approvers of the content.' }),
  approvers: t.string({ description: 'Their names.' })
})

export const report = t.object({
  publication_id: t.string(),
  content_sha3_256: t.string(),
  profile: t.string(),
  ok: t.boolean({ description: 'True without findings of severity error.' }),
  readiness_score: t.integer({ description: '0 to 100.' }),
  note: t.string({ description: 'The result in one sentence.' }),
  findings: t.array(t.object({ code: t.string(), severity: t.enum(['error', 'warning', 'info']), message: t.string() }))
})
