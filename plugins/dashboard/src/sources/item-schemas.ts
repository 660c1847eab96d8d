import { t } from '@svc/plugin-sdk'

const MAX_TEXT_CHARS = 20_000

/** Fields of an item that an operation of the point `dashboard.inbox` returns. */
export const inboxItemFields = {
  id: t.string({ minLength: 1, maxLength: 512 }),
  kind: t.enum(['approval', 'doubt', 'question', 'signal', 'failure']),
  title: t.string({ maxLength: MAX_TEXT_CHARS }),
  body: t.string({ maxLength: MAX_TEXT_CHARS }),
  since: t.number({ description: 'Unix milliseconds' }),
  deadline: t.optional(t.number({ description: 'Unix milliseconds' })),
  link: t.string({ maxLength: 2_048 }),
  answers: t.array(
    t.object({
      label: t.string({ maxLength: 200 }),
      operation: t.string({ description: 'Operation that gives the answer' }),
      input: t.record(t.unknown()),
      ask: t.optional(t.array(t.string(), { description: 'Input fields that the person fills in' })),
      tone: t.optional(t.enum(['primary', 'danger']))
    })
  )
}

/** Fields of a result that an operation of the point `dashboard.search` returns. */
export const searchResultFields = {
  title: t.string({ maxLength: MAX_TEXT_CHARS }),
  kind: t.string({ maxLength: 100 }),
  link: t.string({ maxLength: 2_048, description: 'Path in the console' })
}

/** Operation that did not answer, with the reason. */
export const failedSource = t.object({
  operation: t.string(),
  plugin: t.string(),
  code: t.string(),
  message: t.string()
})
