import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'assistant',
  summary: 'Chat and code by the configured model, as tools',
  activate() {}
})
