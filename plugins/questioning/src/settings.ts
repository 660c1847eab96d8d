import { t } from '@svc/plugin-sdk'
import { POLICY } from './policy.ts'

export const settings = t.object({
  max_attention_ms: t.integer({
    default: POLICY.maxAttentionMs,
    minimum: 0,
    'x-env': 'SVC_QUESTIONING_MAX_ATTENTION_MS',
    description: 'Maximum milliseconds of clarification per session; after that, no question is asked.'
  }),
  mirror_global_attention: t.boolean({
    default: true,
    'x-env': 'SVC_QUESTIONING_MIRROR_GLOBAL_ATTENTION',
    'x-env-type': 'truthy',
    description: 'Whether clarification time is also charged to the orchestrator’s attention budget.'
  }),
  bypass_submit_gate: t.boolean({
    default: false,
    'x-env': 'SVC_SUBMIT_TASK_BYPASS_QUESTIONING_GATE',
    'x-env-type': 'truthy',
    description: 'Whether tasks of a session are accepted while one of its questions is pending.'
  }),
  policy_document: t.string({
    default: 'docs/questioning.md',
    minLength: 1,
    description: 'Document of the questioning policy that is indexed by default, relative to the project.'
  })
})
