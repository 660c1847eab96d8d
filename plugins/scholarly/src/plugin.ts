import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'scholarly',
  summary: 'Submits publications to archives, exactly once',
  activate() {}
})
