import { t } from '@svc/plugin-sdk'

const answerSchema = t.object({
  label: t.string(),
  operation: t.string(),
  input: t.record(t.unknown()),
  ask: t.optional(t.array(t.string())),
  tone: t.optional(t.enum(['primary', 'danger']))
})

/** Output schema of the operations of `dashboardInbox`. */
export const dashboardInboxOutput = t.object({
  items: t.array(
    t.object({
      id: t.string(),
      kind: t.enum(['approval', 'doubt', 'question', 'signal', 'failure']),
      title: t.string(),
      body: t.string(),
      since: t.number({ description: 'Unix milliseconds.' }),
      deadline: t.optional(t.number({ description: 'Unix milliseconds.' })),
      link: t.string(),
      answers: t.array(answerSchema)
    })
  )
})

/** Input schema of the operations of `dashboardSearch`. */
export const dashboardSearchInput = t.object({
  text: t.string({ minLength: 1, maxLength: 256 }),
  limit: t.integer({ default: 20, minimum: 1, maximum: 100 })
})

/** Output schema of the operations of `dashboardSearch`. */
export const dashboardSearchOutput = t.object({
  results: t.array(t.object({ title: t.string(), kind: t.string(), link: t.string() }))
})
