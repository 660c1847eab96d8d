import { t } from '@svc/plugin-sdk'

export const settings = t.object({
  file: t.optional(
    t.string({
      minLength: 1,
      description: 'Database file of the store, relative to the project; default: the primary database.'
    })
  )
})
